"""For operators: settings, calling people, tickets, figures, passes and keys."""

from __future__ import annotations

from fairline.web.admin.desk import Desk
from fairline.web.admin.desks import Desks
from fairline.web.admin.keys import Keys, Passes
from fairline.web.admin.kiosks import Kiosks
from fairline.web.admin.queues import Queues
from fairline.web.admin.records import Records
from fairline.web.admin.tickets import Tickets
from fairline.web.context import Context
from fairline.web.operations import Operation

__all__ = ["admin_operations"]


def admin_operations(context: Context) -> list[Operation]:
    """The operators' calls."""
    desk = Desk(context)
    parts = (Queues(desk), Tickets(desk), Desks(desk), Kiosks(desk), Records(desk), Passes(desk), Keys(desk))
    return [row for part in parts for row in part.rows()]
