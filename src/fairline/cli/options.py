"""Options that all commands on a running server share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from fairline.cli.client import Api
from fairline.errors import InvalidRequest

Server = Annotated[
    str | None,
    typer.Option("--server", help="Address of the server. (default: FAIRLINE_URL, or http://127.0.0.1:8080)"),
]
Key = Annotated[
    str | None, typer.Option("--key", help="Admin key. (default: FAIRLINE_ADMIN_KEY, or the one in the data folder)")
]
Data = Annotated[Path | None, typer.Option("--data", help="The server's data folder, to find its admin key in.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON, for programs.")]
Queue = Annotated[str, typer.Argument(help="The queue.", metavar="QUEUE")]
Number = Annotated[int, typer.Argument(help="The ticket's number.", metavar="NUMBER", min=1)]
Settings = Annotated[
    list[str], typer.Argument(help="Settings as name=value, such as admission_rate=40.", metavar="NAME=VALUE…")
]


def api(ctx: typer.Context) -> Api:
    """The server the command talks to."""
    found = ctx.obj
    assert isinstance(found, Api)
    return found


def connect(ctx: typer.Context, server: Server = None, key: Key = None, data: Data = None) -> None:
    """Remember which server is meant; options stand before the command: fairline queue --server URL list."""
    ctx.obj = Api(server, key, data)


def pairs(given: list[str]) -> dict[str, Any]:
    """name=value pairs; a value is JSON where it can be, else text."""
    import json

    found: dict[str, Any] = {}
    for pair in given:
        name, equals, text = pair.partition("=")
        if not equals:
            raise InvalidRequest(pair, "is not of the form name=value, such as admission_rate=40")
        try:
            found[name] = json.loads(text)
        except ValueError:
            found[name] = None if text == "none" else text
    return found
