"""Fairline: a fair waiting line for websites and walk-in desks.

What is exported here is the public Python API: a program can run a line without HTTP. See
docs/how-to/use-from-python.md. The names are loaded when they are first used, so that a site that only imports
`fairline.gate` loads nothing of the server.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fairline.domain.join_request import Caller, JoinRequest
    from fairline.domain.queue import QueueId, QueueSnapshot, queue_id
    from fairline.domain.queue_settings import QueueSettings
    from fairline.domain.ticket import Action, Reason, Status, Ticket, TicketStatus
    from fairline.domain.tokens import Keyring
    from fairline.errors import FairlineError
    from fairline.keeper.keeper import Keeper
    from fairline.service.answers import JoinAnswer, StatusAnswer
    from fairline.service.draws import Draws
    from fairline.service.fairline import Fairline
    from fairline.service.openings import Openings
    from fairline.service.walk_in import WalkIn
    from fairline.store import Store, open_store

__version__ = "0.1.0"

__all__ = [
    "Action",
    "Caller",
    "Draws",
    "Fairline",
    "FairlineError",
    "JoinAnswer",
    "JoinRequest",
    "Keeper",
    "Keyring",
    "Openings",
    "QueueId",
    "QueueSettings",
    "QueueSnapshot",
    "Reason",
    "Status",
    "StatusAnswer",
    "Store",
    "Ticket",
    "TicketStatus",
    "WalkIn",
    "__version__",
    "open_store",
    "queue_id",
]

_MODULES = {
    "Action": "fairline.domain.ticket",
    "Caller": "fairline.domain.join_request",
    "Draws": "fairline.service.draws",
    "Fairline": "fairline.service.fairline",
    "FairlineError": "fairline.errors",
    "JoinAnswer": "fairline.service.answers",
    "JoinRequest": "fairline.domain.join_request",
    "Keeper": "fairline.keeper.keeper",
    "Keyring": "fairline.domain.tokens",
    "Openings": "fairline.service.openings",
    "QueueId": "fairline.domain.queue",
    "QueueSettings": "fairline.domain.queue_settings",
    "QueueSnapshot": "fairline.domain.queue",
    "Reason": "fairline.domain.ticket",
    "Status": "fairline.domain.ticket",
    "StatusAnswer": "fairline.service.answers",
    "Store": "fairline.store",
    "Ticket": "fairline.domain.ticket",
    "TicketStatus": "fairline.domain.ticket",
    "WalkIn": "fairline.service.walk_in",
    "open_store": "fairline.store",
    "queue_id": "fairline.domain.queue",
}


def __getattr__(name: str) -> Any:
    """Load an exported name from its module when it is first used."""
    module = _MODULES.get(name)
    if module is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(module), name)
    return value
