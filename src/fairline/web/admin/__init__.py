"""The operators' API: settings, history, calling people, tickets, statistics, priority passes, keys, webhooks, mail,
audit, health."""

from __future__ import annotations

from fairline.service.rehearsal import Rehearsals
from fairline.web.admin.audit import Audit
from fairline.web.admin.checklist import ChecklistCalls
from fairline.web.admin.desks import Desks
from fairline.web.admin.floor import Floors
from fairline.web.admin.health import Health
from fairline.web.admin.history import History
from fairline.web.admin.keys import Keys, Passes
from fairline.web.admin.kiosks import Kiosks
from fairline.web.admin.live import Live
from fairline.web.admin.mail import MailCalls
from fairline.web.admin.openings import OpeningCalls
from fairline.web.admin.operator_call import Operators
from fairline.web.admin.page_previews import PagePreviews
from fairline.web.admin.queues import Queues
from fairline.web.admin.records import Records
from fairline.web.admin.rehearsals import RehearsalCalls
from fairline.web.admin.reports import Reports
from fairline.web.admin.screens import Screens
from fairline.web.admin.series import Series
from fairline.web.admin.tickets import Tickets
from fairline.web.admin.webhooks import WebhookCalls
from fairline.web.context import Context
from fairline.web.pages.drawing import Drawing
from fairline.web.server.operations import Operation

__all__ = ["admin_operations"]


def admin_operations(context: Context, drawing: Drawing) -> list[Operation]:
    """All operations of the operators' API."""
    operators = Operators(context)
    rehearsals = Rehearsals(context.service)
    parts = (
        Queues(operators, drawing),
        History(operators),
        OpeningCalls(operators),
        ChecklistCalls(operators, rehearsals),
        RehearsalCalls(operators, rehearsals),
        PagePreviews(operators, drawing),
        Tickets(operators),
        Desks(operators),
        Kiosks(operators),
        Screens(operators),
        Floors(operators),
        Records(operators),
        Series(operators),
        Reports(operators),
        Live(operators),
        Passes(operators),
        Keys(operators),
        WebhookCalls(operators),
        MailCalls(operators),
        Audit(operators),
        Health(operators),
    )
    return [row for part in parts for row in part.rows()]
