"""`fairline ticket …`: the people in a queue of a running server."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from fairline.cli import show
from fairline.cli.client import part
from fairline.cli.options import Json, Number, Queue, ServerCommands, api
from fairline.ticket import Status

app = ServerCommands("Look people up, call them, act on one.")

_COLUMNS = ("number", "label", "status", "position", "priority", "joined", "name", "counter", "reason")
#: What stands below what in a narrow terminal.
_STACKS = (("number",), ("label", "name"), ("status", "reason"), ("position", "priority"), ("joined", "counter"))
#: What can be done to one ticket, in words.
_ACTIONS = {
    "recall": "Call someone again who was called.",
    "return": "Send someone who was called back to their old place.",
    "start": "Begin serving someone who was called.",
    "complete": "Someone inside is done.",
    "no-show": "Someone who was called did not come.",
    "cancel": "Take someone out of the line.",
    "terminate": "End someone's stay inside.",
    "hold": "Put someone who waits aside, until they are released.",
    "release": "Put someone who is held back at their old place.",
    "reinstate": "Take back a no-show: they have come after all.",
}


@app.command("list")
def list_tickets(
    ctx: typer.Context,
    queue: Queue,
    status: Annotated[Status | None, typer.Option(help="Only those in this state.")] = None,
    search: Annotated[
        str | None, typer.Option(help="A number or label; or a part of a name, phone or user id.")
    ] = None,
    limit: Annotated[int, typer.Option(help="How many at the most.", min=1, max=500)] = 50,
    json: Json = False,
) -> None:
    """The people in a queue, in the order they will be let in."""
    found = api(ctx).get(f"/queues/{part(queue)}/tickets", status=status, search=search, limit=limit)
    if json:
        show.as_json(found)
        return
    _table(f"Tickets of {queue}", found["tickets"], "Nobody is there.")
    if found["cursor"]:
        # What goes through all tickets, or all that ended, looks at so many a page and not further.
        looks = search or status in (Status.COMPLETED, Status.EXPIRED)
        more = "There may be more" if looks else "There are more"
        show.console.print(f"[dim]{more}; raise --limit (now {limit}), or use the API's cursor.[/]")


@app.command("show")
def show_ticket(ctx: typer.Context, queue: Queue, number: Number, json: Json = False) -> None:
    """All that is kept of one ticket."""
    found = api(ctx).get(f"/queues/{part(queue)}/tickets/{number}")
    if json:
        show.as_json(found)
    else:
        show.facts(f"Ticket {found['label']}", found)


@app.command("call-next")
def call_next(
    ctx: typer.Context,
    queue: Queue,
    count: Annotated[int, typer.Option(help="How many.", min=1, max=100)] = 1,
    counter: Annotated[str, typer.Option(help="The desk that calls, such as 'Desk 2'.")] = "",
) -> None:
    """Call the next people by hand."""
    found = api(ctx).post(f"/queues/{part(queue)}/call-next", {"count": count, "counter": counter})
    _table("Called", found["tickets"], "Nobody could be called: nobody waits, or no room.")


@app.command()
def call(
    ctx: typer.Context,
    queue: Queue,
    number: Number,
    counter: Annotated[str, typer.Option(help="The desk that calls.")] = "",
) -> None:
    """Call one person out of turn."""
    _say(api(ctx).post(f"/queues/{part(queue)}/tickets/{number}/call", {"counter": counter}))


@app.command()
def prioritise(
    ctx: typer.Context,
    queue: Queue,
    number: Number,
    level: Annotated[int, typer.Option(help="1, 2 or 3.", min=1, max=3)] = 1,
) -> None:
    """Move someone who waits up, by the queue's policy."""
    _say(api(ctx).post(f"/queues/{part(queue)}/tickets/{number}/prioritise", {"level": level}))


@app.command("pass")
def let_pass(
    ctx: typer.Context,
    queue: Queue,
    number: Number,
    places: Annotated[int, typer.Option(help="How many others go first.", min=1, max=100)] = 1,
) -> None:
    """Let others go before someone who waits."""
    _say(api(ctx).post(f"/queues/{part(queue)}/tickets/{number}/pass", {"places": places}))


@app.command()
def transfer(
    ctx: typer.Context,
    queue: Queue,
    number: Number,
    to: Annotated[str, typer.Option(help="The other queue.")],
    priority: Annotated[int | None, typer.Option(help="0 to 3; as here unless told.", min=0, max=3)] = None,
) -> None:
    """Send someone on to another queue."""
    body = {"queue": to} | ({"priority": priority} if priority is not None else {})
    found = api(ctx).post(f"/queues/{part(queue)}/tickets/{number}/transfer", body)
    there = found["transferred_to"]
    show.console.print(f"Ticket [bold]{found['label']}[/] is [bold]{there['label']}[/] in {there['queue']} now.")


@app.command()
def revoke(
    ctx: typer.Context,
    queue: Queue,
    number: Number,
    reason: Annotated[str, typer.Option(help="Why, for the record.")] = "admin_revoked",
) -> None:
    """Make a ticket and its pass useless at once."""
    _say(api(ctx).post(f"/queues/{part(queue)}/revoke", {"ticket": number, "reason": reason}))


def _add_action(name: str, about: str) -> None:
    @app.command(name, help=about)
    def act(ctx: typer.Context, queue: Queue, number: Number) -> None:
        _say(api(ctx).post(f"/queues/{part(queue)}/tickets/{number}/{name}"))


for _name, _about in _ACTIONS.items():
    _add_action(_name, _about)


def _table(title: str, tickets: list[dict[str, Any]], empty: str) -> None:
    show.rows(title, _COLUMNS, map(_line, tickets), empty, stacks=_STACKS)


def _line(ticket: dict[str, Any]) -> tuple[Any, ...]:
    fields = ("ticket", "label", "status", "position", "priority", "joined_at", "name", "counter", "reason")
    return tuple(ticket.get(field) for field in fields)


def _say(ticket: dict[str, Any]) -> None:
    place = f", at position {ticket['position']:,}" if ticket.get("position") else ""
    why = f" ({ticket['reason'].replace('_', ' ')})" if ticket.get("reason") else ""
    state = "held" if ticket.get("held") else ticket["status"]
    show.console.print(f"Ticket [bold]{ticket['label']}[/] is {state}{why}{place}.")
