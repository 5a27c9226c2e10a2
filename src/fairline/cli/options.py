"""The options that all commands on a running server share."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from inspect import Parameter, Signature, signature
from pathlib import Path
from typing import Annotated, Any, NamedTuple, TypeVar, get_type_hints

import typer

from fairline.cli.client import Api

Run = TypeVar("Run", bound=Callable[..., None])

Server = Annotated[
    str | None,
    typer.Option(
        "--server",
        help="URL of the server. (default: FAIRLINE_URL, or the server that runs with the data folder, or host and "
        "port of the settings)",
    ),
]
Key = Annotated[
    str | None, typer.Option("--key", help="Admin key. (default: FAIRLINE_ADMIN_KEY, or the one in the data folder)")
]
Data = Annotated[
    Path | None, typer.Option("--data", help="The server's data folder, which contains its address and admin key.")
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON, for programs.")]
Queue = Annotated[str, typer.Argument(help="The queue.", metavar="QUEUE")]
Ticket = Annotated[str, typer.Argument(help="The ticket: its label, such as A0001 or RDEMO-000123, or its number.")]


class Connection(NamedTuple):
    """The options given before the command's name: the server, its key and its data folder."""

    server: str | None
    key: str | None
    data: Path | None


class ServerCommands(typer.Typer):
    """A group of commands on a running server. The server can be named before or after the command: `fairline queue
    --server URL list` or `fairline queue list --server URL`. The one after it wins."""

    def __init__(self, about: str) -> None:
        super().__init__(no_args_is_help=True, help=about)
        self.callback()(_remember)

    def command(self, name: str | None = None, **options: Any) -> Callable[[Run], Run]:
        register = super().command(name, **options)

        def decorate(run: Run) -> Run:
            register(_on_a_server(run))
            return run

        return decorate

    def local_command(self, name: str | None = None) -> Callable[[Run], Run]:
        """A command of the group that needs no server."""
        return super().command(name)


def _remember(ctx: typer.Context, server: Server = None, key: Key = None, data: Data = None) -> None:
    ctx.obj = Connection(server, key, data)


def _on_a_server(run: Callable[..., None]) -> Callable[..., None]:
    """Add the options that name the server to a command."""

    @wraps(run)
    def connected(ctx: typer.Context, **given: Any) -> None:
        before: Connection = ctx.obj
        after = Connection(*(given.pop(name) for name in Connection._fields))
        ctx.obj = Api(after.server or before.server, after.key or before.key, after.data or before.data)
        run(ctx=ctx, **given)

    kinds = get_type_hints(run, include_extras=True)
    own = [each.replace(annotation=kinds[each.name]) for each in signature(run).parameters.values()]
    more = {"server": Server, "key": Key, "data": Data}
    added = [Parameter(name, Parameter.KEYWORD_ONLY, default=None, annotation=kind) for name, kind in more.items()]
    connected.__signature__ = Signature([*own, *added])  # type: ignore[attr-defined]
    connected.__annotations__ = kinds | more
    return connected


def api(ctx: typer.Context) -> Api:
    """The client for the server that the command was given."""
    found = ctx.obj
    assert isinstance(found, Api)
    return found
