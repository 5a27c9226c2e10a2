"""Signs who a visitor is, so that nobody else can join the line as that user."""

from __future__ import annotations

import hmac
import json
import time
from base64 import urlsafe_b64encode


def user_token(user_id: str, key: str, *, seconds: int = 300) -> str:
    """Return a token that says who a visitor is. Send it as `user_token` when they join: in the body of the call, or
    in the link to the waiting page. `key` is the key of the queue (`fairline queue user-token-key`); keep it on your
    server and never put it into a page."""
    head = _text({"alg": "HS256", "typ": "JWT"})
    claims = _text({"sub": user_id, "exp": int(time.time()) + seconds})
    signature = hmac.digest(key.encode(), f"{head}.{claims}".encode(), "sha256")
    return f"{head}.{claims}.{_base64(signature)}"


def _text(content: dict[str, object]) -> str:
    return _base64(json.dumps(content, separators=(",", ":")).encode())


def _base64(data: bytes) -> str:
    return urlsafe_b64encode(data).rstrip(b"=").decode()
