"""The errors that Fairline raises, in one tree.

    FairlineError
    ├── Invalid                   a value that can never be accepted
    │   ├── InvalidRequest          a field of a call
    │   └── InvalidSettings         a field of a queue's or the server's settings
    ├── NotFound
    │   ├── QueueNotFound
    │   ├── TicketNotFound
    │   ├── PriorityPassNotFound
    │   ├── RevisionNotFound
    │   ├── OpeningNotFound
    │   ├── DrawNotFound
    │   ├── WebhookNotFound
    │   ├── DeliveryNotFound
    │   └── KeyNotFound
    ├── Refused                   a valid call that is refused now, or to this caller
    │   ├── QueueExists
    │   ├── QueueFull                       (a retry may help)
    │   ├── QueueMaintenance                (a retry may help)
    │   ├── QueueClosed                     (a retry helps, once it opens)
    │   ├── QueuePaused
    │   ├── QueueHeldBack
    │   ├── GroupsOff
    │   ├── GroupGone
    │   ├── GroupFull                       (a retry may help)
    │   ├── InGroup
    │   ├── OpeningOverlaps
    │   ├── TooManyOpenings
    │   ├── DrawUnderWay                    (a retry helps)
    │   ├── RehearsalRunning
    │   ├── AtCapacity                      (a retry may help)
    │   ├── AlreadyInLine
    │   │   └── HolderInLine
    │   ├── PassInvalid
    │   ├── UserTokenMissing
    │   ├── UserTokenInvalid
    │   ├── UserTokenExpired
    │   ├── IdempotencyConflict
    │   ├── TransitionRefused
    │   ├── TicketExpired
    │   ├── SessionTaken
    │   ├── SettingsChanged
    │   ├── TooManyWebhooks
    │   ├── MailNotSetUp
    │   ├── LastAdminKey
    │   └── RateLimited                     (a retry helps, after `retry_after`)
    │       └── TooManyStreams
    ├── KeyMissing                a call of an operator without an admin key
    ├── KeyInvalid
    ├── SignedOut
    ├── CrossSite
    ├── Forbidden                 the admin key does not allow the call
    ├── TokenError
    │   ├── TokenMissing
    │   ├── TokenInvalid
    │   ├── TokenMoved
    │   └── TokenExpired
    ├── ServiceFailed             an external service did not answer as it should
    │   └── AddressRefused          its address must not be called
    ├── StoreError
    │   ├── StoreUnavailable                (a retry helps)
    │   ├── StoreOverloaded                 (a retry helps)
    │   ├── StoreFolderInUse
    │   ├── StoreFolderUnfit
    │   └── StoreNotSupported
    ├── ServerUnreachable         from here on, errors of the commands
    ├── ServerRefused
    ├── NotReady
    ├── NoPicture
    ├── UnreadableDraw
    └── BackupRefused

The gate of a site has errors of its own, derived from FairlineError, in `fairline.gate.errors`.

A message says what was wrong, what was found, and what to do next. `code` is for programs and never changes.
`retry_after` is set, in seconds, if trying the same call again can help.

Import them from here. The modules hold what one subject can raise: `queues`, `tickets`, `tokens`, `requests`, `admin`,
`store`, `external`, `commands`; `base` has the kinds.
"""

from __future__ import annotations

from fairline.errors.admin import (
    CrossSite,
    DeliveryNotFound,
    Forbidden,
    KeyInvalid,
    KeyMissing,
    KeyNotFound,
    LastAdminKey,
    MailNotSetUp,
    SignedOut,
    TooManyWebhooks,
    WebhookNotFound,
)
from fairline.errors.base import FairlineError, Invalid, InvalidRequest, InvalidSettings, NotFound, Refused
from fairline.errors.commands import (
    BackupRefused,
    NoPicture,
    NotReady,
    ServerRefused,
    ServerUnreachable,
    UnreadableDraw,
)
from fairline.errors.external import AddressRefused, ServiceFailed
from fairline.errors.queues import (
    AtCapacity,
    DrawNotFound,
    DrawUnderWay,
    GroupFull,
    GroupGone,
    GroupsOff,
    InGroup,
    OpeningNotFound,
    OpeningOverlaps,
    QueueClosed,
    QueueExists,
    QueueFull,
    QueueHeldBack,
    QueueMaintenance,
    QueueNotFound,
    QueuePaused,
    RehearsalRunning,
    RevisionNotFound,
    SettingsChanged,
    TooManyOpenings,
)
from fairline.errors.requests import IdempotencyConflict, RateLimited, TooManyStreams
from fairline.errors.store import (
    StoreError,
    StoreFolderInUse,
    StoreFolderUnfit,
    StoreNotSupported,
    StoreOverloaded,
    StoreUnavailable,
)
from fairline.errors.tickets import (
    AlreadyInLine,
    HolderInLine,
    SessionTaken,
    TicketExpired,
    TicketNotFound,
    TransitionRefused,
)
from fairline.errors.tokens import (
    PassInvalid,
    PriorityPassNotFound,
    TokenError,
    TokenExpired,
    TokenInvalid,
    TokenMissing,
    TokenMoved,
    UserTokenExpired,
    UserTokenInvalid,
    UserTokenMissing,
)

__all__ = [
    "AddressRefused",
    "AlreadyInLine",
    "AtCapacity",
    "BackupRefused",
    "CrossSite",
    "DeliveryNotFound",
    "DrawNotFound",
    "DrawUnderWay",
    "FairlineError",
    "Forbidden",
    "GroupFull",
    "GroupGone",
    "GroupsOff",
    "HolderInLine",
    "IdempotencyConflict",
    "InGroup",
    "Invalid",
    "InvalidRequest",
    "InvalidSettings",
    "KeyInvalid",
    "KeyMissing",
    "KeyNotFound",
    "LastAdminKey",
    "MailNotSetUp",
    "NoPicture",
    "NotFound",
    "NotReady",
    "OpeningNotFound",
    "OpeningOverlaps",
    "PassInvalid",
    "PriorityPassNotFound",
    "QueueClosed",
    "QueueExists",
    "QueueFull",
    "QueueHeldBack",
    "QueueMaintenance",
    "QueueNotFound",
    "QueuePaused",
    "RateLimited",
    "Refused",
    "RehearsalRunning",
    "RevisionNotFound",
    "ServerRefused",
    "ServerUnreachable",
    "ServiceFailed",
    "SessionTaken",
    "SettingsChanged",
    "SignedOut",
    "StoreError",
    "StoreFolderInUse",
    "StoreFolderUnfit",
    "StoreNotSupported",
    "StoreOverloaded",
    "StoreUnavailable",
    "TicketExpired",
    "TicketNotFound",
    "TokenError",
    "TokenExpired",
    "TokenInvalid",
    "TokenMissing",
    "TokenMoved",
    "TooManyOpenings",
    "TooManyStreams",
    "TooManyWebhooks",
    "TransitionRefused",
    "UnreadableDraw",
    "UserTokenExpired",
    "UserTokenInvalid",
    "UserTokenMissing",
    "WebhookNotFound",
]
