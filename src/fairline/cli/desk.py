"""`fairline desk …`: the desks of a queue where staff call people."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from fairline.cli import show
from fairline.cli.client import part
from fairline.cli.options import Json, Queue, ServerCommands, api

app = ServerCommands("Open, close and list the desks of a queue.")

Name = Annotated[str, typer.Argument(help="The desk, such as 'Desk 2'.", metavar="DESK")]


@app.command("list")
def list_desks(ctx: typer.Context, queue: Queue, json: Json = False) -> None:
    """List the desks of a queue, and which are open."""
    found = api(ctx).get(f"/queues/{part(queue)}/desks")
    if json:
        show.as_json(found)
        return
    _table(queue, found)


@app.command("open")
def open_desk(ctx: typer.Context, queue: Queue, name: Name) -> None:
    """Open a desk. A desk that calls someone opens by itself."""
    _set(ctx, queue, name, is_open=True)


@app.command("close")
def close_desk(ctx: typer.Context, queue: Queue, name: Name) -> None:
    """Close a desk. The estimated wait counts open desks only."""
    _set(ctx, queue, name, is_open=False)


def _set(ctx: typer.Context, queue: str, name: str, *, is_open: bool) -> None:
    _table(queue, api(ctx).post(f"/queues/{part(queue)}/desks", {"name": name, "open": is_open}))


def _table(queue: str, found: dict[str, Any]) -> None:
    lines = ([desk["name"], "open" if desk["open"] else "closed", desk["since"]] for desk in found["desks"])
    empty = f"There is no desk yet. A desk appears when it calls: fairline ticket call-next {queue} --desk 'Desk 1'"
    show.rows(f"Desks of {queue}", ("desk", "status", "since"), lines, empty)
