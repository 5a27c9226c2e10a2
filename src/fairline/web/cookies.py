"""The names of the cookies that people's browsers keep, and how long those last that are kept."""

from __future__ import annotations

from fairline.domain.queue import QueueId

#: The session token of the protected site.
SESSION_COOKIE = "fairline_session"
#: Which client a session belongs to.
CLIENT_COOKIE = "fairline_client"
#: A secret that identifies a browser that sends no client id.
VISITOR_COOKIE = "fairline_visitor"
VISITOR_SECONDS = 31_536_000
#: The language that a member of staff chose for the dashboard.
LANGUAGE_COOKIE = "fairline_language"
LANGUAGE_SECONDS = 31_536_000


def ticket_cookie(queue: QueueId) -> str:
    """The name of the cookie that holds the ticket token for a queue."""
    return f"fairline_ticket_{queue}"


def user_cookie(queue: QueueId) -> str:
    """The name of the cookie that holds the site's user token for joins of a queue."""
    return f"fairline_user_{queue}"
