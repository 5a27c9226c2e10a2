"""`fairline desk …`: the desks of a queue whose people are called by staff."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from fairline.cli import show
from fairline.cli.client import part
from fairline.cli.options import Json, Queue, ServerCommands, api

app = ServerCommands("Desks that call people: which are open.")

Name = Annotated[str, typer.Argument(help="The desk, such as 'Desk 2'.", metavar="DESK")]


@app.command("list")
def list_desks(ctx: typer.Context, queue: Queue, json: Json = False) -> None:
    """The desks of a queue, and which are open."""
    found = api(ctx).get(f"/queues/{part(queue)}/desks")
    if json:
        show.as_json(found)
        return
    _table(queue, found)


@app.command("open")
def open_desk(ctx: typer.Context, queue: Queue, name: Name) -> None:
    """Say that a desk is open. One that calls is open by that."""
    _set(ctx, queue, name, is_open=True)


@app.command("close")
def close_desk(ctx: typer.Context, queue: Queue, name: Name) -> None:
    """Say that a desk is closed: the wait is told from those that are open."""
    _set(ctx, queue, name, is_open=False)


def _set(ctx: typer.Context, queue: str, name: str, *, is_open: bool) -> None:
    _table(queue, api(ctx).post(f"/queues/{part(queue)}/desks", {"name": name, "open": is_open}))


def _table(queue: str, found: dict[str, Any]) -> None:
    lines = ([desk["name"], "open" if desk["open"] else "closed", desk["since"]] for desk in found["desks"])
    nobody = f"There is no desk yet. One is there once it calls: fairline ticket call-next {queue} --counter 'Desk 1'"
    show.rows(f"Desks of {queue}", ("desk", "is", "since"), lines, nobody)
