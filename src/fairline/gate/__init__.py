"""The gate that a Python site puts in front of itself: `fairline.gate.asgi` and `fairline.gate.wsgi`.

A site installs the gate together with its own packages, so the gate needs only the standard library and `cryptography`.
It imports nothing of the server: of Fairline only `errors` and `domain.bypass`, which need no more than that.

    session_tokens   the claims of a session token, and the check of its signature
    keys             the public keys of the server, kept through its outages
    server           the calls to the Fairline server, and whether it can be reached
    sessions         which client was let in with which session token
    reports          the calls to the server that are made in the background
    request          the request of a visitor, the same for ASGI and WSGI
    users            signs who a visitor is, before they join
    gate             the decision: let in, send to the waiting page, or answer "not now"
    errors           the errors of the gate
"""

from fairline.gate.errors import GateError, Refusal, ServerAway, SessionTokenRefused
from fairline.gate.options import Options
from fairline.gate.session_tokens import SessionToken
from fairline.gate.users import user_token

__all__ = ["GateError", "Options", "Refusal", "ServerAway", "SessionToken", "SessionTokenRefused", "user_token"]
