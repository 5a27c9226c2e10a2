"""Options that all commands on a running server share."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import wraps
from inspect import Parameter, Signature, signature
from pathlib import Path
from types import NoneType, UnionType
from typing import Annotated, Any, NamedTuple, TypeVar, Union, get_args, get_origin, get_type_hints

import typer

from fairline.cli.client import Api
from fairline.errors import InvalidRequest
from fairline.queue import QueueSettings

Run = TypeVar("Run", bound=Callable[..., None])

Server = Annotated[
    str | None,
    typer.Option("--server", help="Address of the server. (default: FAIRLINE_URL, or host and port of the settings)"),
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


class Told(NamedTuple):
    """Which server was named so far, and how to get in."""

    server: str | None
    key: str | None
    data: Path | None


class ServerCommands(typer.Typer):
    """A group of commands on a running server. Which one, is said before a command or after it: `fairline queue
    --server URL list`, `fairline queue list --server URL`; what is said after it counts."""

    def __init__(self, about: str) -> None:
        super().__init__(no_args_is_help=True, help=about)
        self.callback()(_remember)

    def command(self, name: str | None = None, **options: Any) -> Callable[[Run], Run]:
        add = super().command(name, **options)

        def added(run: Run) -> Run:
            add(_on_a_server(run))
            return run

        return added


def _remember(ctx: typer.Context, server: Server = None, key: Key = None, data: Data = None) -> None:
    ctx.obj = Told(server, key, data)


def _on_a_server(run: Callable[..., None]) -> Callable[..., None]:
    """The command with the options that say which server it talks to."""

    @wraps(run)
    def connected(ctx: typer.Context, **given: Any) -> None:
        before: Told = ctx.obj
        after = Told(*(given.pop(name) for name in Told._fields))
        ctx.obj = Api(after.server or before.server, after.key or before.key, after.data or before.data)
        run(ctx=ctx, **given)

    kinds = get_type_hints(run, include_extras=True)
    own = [each.replace(annotation=kinds[each.name]) for each in signature(run).parameters.values()]
    more = {"server": Server, "key": Key, "data": Data}
    told = [Parameter(name, Parameter.KEYWORD_ONLY, default=None, annotation=kind) for name, kind in more.items()]
    connected.__signature__ = Signature([*own, *told])  # type: ignore[attr-defined]
    connected.__annotations__ = kinds | more
    return connected


def api(ctx: typer.Context) -> Api:
    """The server the command talks to."""
    found = ctx.obj
    assert isinstance(found, Api)
    return found


def pairs(given: list[str]) -> dict[str, Any]:
    """name=value pairs of settings. What is text is taken as it is typed; another value is JSON where it can be."""
    found: dict[str, Any] = {}
    for pair in given:
        name, equals, text = pair.partition("=")
        if not equals:
            raise InvalidRequest(pair, "is not of the form name=value, such as admission_rate=40")
        found[name] = _value(get_type_hints(QueueSettings).get(name), text)
    return found


def _value(kind: Any, text: str) -> Any:
    """What is typed for a setting of this kind; `none` unsets what can be unset."""
    kinds = get_args(kind) if get_origin(kind) in (Union, UnionType) else (kind,)
    is_text = any(isinstance(each, type) and issubclass(each, str) for each in kinds)
    if text in ("none", "null") and (NoneType in kinds or not is_text):
        return None
    if is_text:
        return text
    try:
        return json.loads(text)
    except ValueError:
        return text
