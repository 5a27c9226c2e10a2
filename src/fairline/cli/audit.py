"""`fairline audit`: the audit log of a running server."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from fairline.cli import show
from fairline.cli.client import Api
from fairline.cli.options import Data, Json, Key, Server

_COLUMNS = ("when", "key", "role", "did", "queue", "ticket", "what")
#: The columns that share one column in a narrow terminal.
_STACKS = (("when",), ("key", "role"), ("queue", "ticket"), ("did", "what"))


def audit(
    server: Server = None,
    key: Key = None,
    data: Data = None,
    queue: Annotated[str | None, typer.Option(help="Only actions on this queue.")] = None,
    before: Annotated[str | None, typer.Option(help="Only entries before this one, by its id.")] = None,
    limit: Annotated[int, typer.Option(help="The most entries to show.", min=1, max=500)] = 50,
    json: Json = False,
) -> None:
    """Show what was done with admin keys, newest first: fairline audit --queue sale"""
    found = Api(server, key, data).get("/audit", queue=queue, before=before, limit=limit)
    if json:
        show.as_json(found)
        return
    show.rows("Audit log", _COLUMNS, map(_line, found["entries"]), "Nothing was done yet.", stacks=_STACKS)
    if found["cursor"]:
        show.console.print(f"[dim]There is more: add --before {show.safe(found['cursor'])}[/]")


def _line(entry: dict[str, Any]) -> list[Any]:
    key = entry["key"]
    detail = ", ".join(f"{name} {show.plain(value)}" for name, value in entry["detail"].items() if value is not None)
    ticket = "" if entry["ticket"] is None else str(entry["ticket"])
    return [entry["at"], key["name"] or key["id"], key["role"], entry["action"], entry["queue"], ticket, detail]
