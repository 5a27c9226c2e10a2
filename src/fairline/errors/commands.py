"""Errors of the commands of the command line."""

from __future__ import annotations

from fairline.errors.base import FairlineError


class ServerUnreachable(FairlineError):
    """No server answers at the URL of a command."""

    code = "server_unreachable"


class ServerRefused(FairlineError):
    """The server answered with a problem."""

    code = "server_refused"


class NotReady(FairlineError):
    """A server answers, but it is not ready."""

    code = "not_ready"


class NoPicture(FairlineError):
    """The picture cannot be drawn or written."""

    code = "no_picture"


class UnreadableDraw(FairlineError):
    """A file is not that of a draw, or cannot be read or written."""

    code = "unreadable_draw"


class BackupRefused(FairlineError):
    """A backup cannot be taken, or a file cannot be restored."""

    code = "backup_refused"
