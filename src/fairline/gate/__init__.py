"""What a Python site puts in front of itself: `fairline.gate.asgi` and `fairline.gate.wsgi`.

A site installs this beside its own packages, so it is built on the standard library and `cryptography` alone, and
imports nothing of the server: of Fairline only `errors` and `bypass`, which are built on no more than that.

    passes     what a pass says, and whether it can be believed
    keys       the public keys of the server, kept through its outages
    server     the calls to the Fairline server, and whether it can be reached
    sessions   which client was let in with which pass
    reports    what is told to the server while nobody waits for it
    request    what a visitor asked for, the same for ASGI and WSGI
    users      says who a visitor is, before they join
    gate       the decision: through, to the waiting page, or not now
"""

from fairline.gate.errors import GateError, Refusal, ServerAway, SessionTokenRefused
from fairline.gate.options import Options
from fairline.gate.session_tokens import SessionToken
from fairline.gate.users import user_token

__all__ = ["GateError", "Options", "Refusal", "ServerAway", "SessionToken", "SessionTokenRefused", "user_token"]
