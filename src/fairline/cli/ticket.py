"""`fairline ticket …`: the people in a queue of a running server."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from fairline.cli import show
from fairline.cli.client import part
from fairline.cli.options import Json, Queue, ServerCommands, Ticket, api
from fairline.cli.units import words
from fairline.domain.ticket import LIVE, Status
from fairline.errors import NotFound

app = ServerCommands("Find people, add them to the line, call and serve them: fairline ticket start barber A0001")

_COLUMNS = ("number", "label", "status", "position", "priority", "joined", "name", "desk", "reason")
#: The columns that share one column in a narrow terminal.
_STACKS = (("number",), ("label", "name"), ("status", "reason"), ("position", "priority"), ("joined", "desk"))
#: The help texts of the actions on one ticket.
_ACTIONS = {
    "recall": "Call a called person again.",
    "return": "Return a called person to their old place in line.",
    "start": "Start serving a called person.",
    "complete": "Complete the stay of a person inside.",
    "no-show": "Record that a called person did not come.",
    "cancel": "Remove a person from the line.",
    "terminate": "End a person's stay inside.",
    "hold": "Put a waiting person on hold until they are released.",
    "release": "Return a person on hold to their old place in line.",
    "put-back": "Undo a removal: the person waits at their old place again.",
    "reinstate": "Undo a no-show: the person has come after all.",
}


@app.command("list")
def list_tickets(
    ctx: typer.Context,
    queue: Queue,
    status: Annotated[Status | None, typer.Option(help="Only tickets with this status.")] = None,
    search: Annotated[
        str | None, typer.Option(help="A number or label, or part of a name, phone number or user id.")
    ] = None,
    limit: Annotated[int, typer.Option(help="The most tickets to show.", min=1, max=500)] = 50,
    json: Json = False,
) -> None:
    """List the people in a queue, in the order in which they will be let in."""
    found = api(ctx).get(f"/queues/{part(queue)}/tickets", status=status, search=search, limit=limit)
    if json:
        show.as_json(found)
        return
    _table(f"Tickets of {queue}", found["tickets"], "Nobody is there.")
    if found["cursor"]:
        # A search, and a list of ended tickets, read a limited number of tickets per page and may stop early.
        is_search = search or status in (Status.COMPLETED, Status.EXPIRED)
        more = "There may be more" if is_search else "There are more"
        show.console.print(f"[dim]{more}; raise --limit (now {limit}), or use the API's cursor.[/]")


@app.command("show")
def show_ticket(ctx: typer.Context, queue: Queue, ticket: Ticket, json: Json = False) -> None:
    """Show everything that is stored about one ticket."""
    found = api(ctx).get(f"{_path(ctx, queue, ticket)}")
    if json:
        show.as_json(found)
    else:
        show.facts(f"Ticket {found['label']}", found)


@app.command("call-next")
def call_next(
    ctx: typer.Context,
    queue: Queue,
    count: Annotated[int, typer.Option(help="How many people.", min=1, max=100)] = 1,
    desk: Annotated[str, typer.Option(help="The desk that calls, such as 'Desk 2'.")] = "",
) -> None:
    """Call the next people by hand."""
    found = api(ctx).post(f"/queues/{part(queue)}/call-next", {"count": count, "desk": desk})
    _table("Called", found["tickets"], "Nobody could be called: nobody waits, or there is no capacity.")


@app.command()
def call(
    ctx: typer.Context,
    queue: Queue,
    ticket: Ticket,
    desk: Annotated[str, typer.Option(help="The desk that calls.")] = "",
) -> None:
    """Call one person out of turn."""
    _print_status(api(ctx).post(f"{_path(ctx, queue, ticket)}/call", {"desk": desk}))


@app.command()
def prioritise(
    ctx: typer.Context,
    queue: Queue,
    ticket: Ticket,
    level: Annotated[int, typer.Option(help="1, 2 or 3.", min=1, max=3)] = 1,
) -> None:
    """Move a waiting person up, by the queue's priority policy."""
    _print_status(api(ctx).post(f"{_path(ctx, queue, ticket)}/prioritise", {"level": level}))


@app.command("step-back")
def step_back(
    ctx: typer.Context,
    queue: Queue,
    ticket: Ticket,
    places: Annotated[int, typer.Option(help="How many people go first.", min=1, max=100)] = 1,
) -> None:
    """Let others go before a waiting person."""
    _print_status(api(ctx).post(f"{_path(ctx, queue, ticket)}/step-back", {"places": places}))


@app.command()
def transfer(
    ctx: typer.Context,
    queue: Queue,
    ticket: Ticket,
    to: Annotated[str, typer.Option(help="The other queue.")],
    priority: Annotated[int | None, typer.Option(help="0 to 3. (default: the same as here)", min=0, max=3)] = None,
) -> None:
    """Transfer a person to another queue."""
    body = {"queue": to} | ({"priority": priority} if priority is not None else {})
    found = api(ctx).post(f"{_path(ctx, queue, ticket)}/transfer", body)
    there = found["transferred_to"]
    show.console.print(
        f"Ticket [bold]{show.safe(found['label'])}[/] is [bold]{show.safe(there['label'])}[/] "
        f"in {show.safe(there['queue'])} now."
    )


@app.command()
def revoke(
    ctx: typer.Context,
    queue: Queue,
    ticket: Ticket,
    reason: Annotated[str, typer.Option(help="The reason, for the record.")] = "admin_revoked",
) -> None:
    """Revoke a ticket and its session token. Both stop working at once."""
    _print_status(
        api(ctx).post(f"/queues/{part(queue)}/revoke", {"ticket": _number(ctx, queue, ticket), "reason": reason})
    )


@app.command()
def add(
    ctx: typer.Context,
    queue: Queue,
    name: Annotated[str | None, typer.Option(help="Their name.")] = None,
    phone: Annotated[str | None, typer.Option(help="Their phone number, for notices.")] = None,
    email: Annotated[str | None, typer.Option(help="Their e-mail address, for notices.")] = None,
    language: Annotated[str | None, typer.Option(help="The language of their notices, such as de.")] = None,
    party_size: Annotated[int, typer.Option(help="How many people come together.", min=1, max=100)] = 1,
    series: Annotated[str | None, typer.Option(help="The series of the label. (default: the first)")] = None,
    priority: Annotated[int, typer.Option(help="0 to 3.", min=0, max=3)] = 0,
    json: Json = False,
) -> None:
    """Add a person to the line: fairline ticket add barber --name Ada"""
    details = {"name": name, "phone": phone, "email": email, "language": language, "series": series}
    body: dict[str, object] = {field: value for field, value in details.items() if value is not None}
    body |= {"party_size": party_size, "priority": priority}
    found = api(ctx).post(f"/queues/{part(queue)}/join", body)
    if json:
        show.as_json(found)
        return
    wait = found["estimated_wait_seconds"]
    about = f", about {words(wait)} to wait" if wait is not None else ""
    _print_status(found, f"{about}. Number {found['ticket']:,} in this queue")


def _add_action(name: str, about: str) -> None:
    @app.command(name, help=about)
    def act(ctx: typer.Context, queue: Queue, ticket: Ticket) -> None:
        _print_status(api(ctx).post(f"{_path(ctx, queue, ticket)}/{name}"))


for _name, _about in _ACTIONS.items():
    _add_action(_name, _about)


def _table(title: str, tickets: list[dict[str, Any]], empty: str) -> None:
    show.rows(title, _COLUMNS, map(_line, tickets), empty, stacks=_STACKS)


def _line(ticket: dict[str, Any]) -> tuple[Any, ...]:
    fields = ("ticket", "label", "status", "position", "priority", "joined_at", "name", "desk", "reason")
    return tuple(ticket.get(field) for field in fields)


def _path(ctx: typer.Context, queue: str, ticket: str) -> str:
    return f"/queues/{part(queue)}/tickets/{_number(ctx, queue, ticket)}"


def _number(ctx: typer.Context, queue: str, typed: str) -> int:
    """The number of the ticket that was typed: the number itself, or the label, complete (RDEMO-000123) or without its
    prefix (A0001, 000123), in upper or lower case."""
    if typed.isascii() and typed.isdecimal() and not typed.startswith("0"):
        return int(typed)
    wanted = _key(typed)
    found = [ticket for ticket in _search(ctx, queue, typed) if wanted in (key := _key(ticket["label"]), ("", key[1]))]
    # Labels that restart daily repeat: take the live tickets, or else the newest one.
    meant = [ticket for ticket in found if ticket["status"] in LIVE] or found[-1:]
    if not meant:
        raise NotFound(
            f"Queue {queue!r} has no ticket {typed!r:.80}: nobody has that label, or the record has been purged. "
            f"See who is there: fairline ticket list {queue}"
        )
    if len(meant) > 1:
        matches = ", ".join(f"{ticket['ticket']} ({ticket['status']})" for ticket in meant)
        raise NotFound(f"Several tickets have the label {typed!r:.80}. Name one by its number: {matches}.")
    return int(meant[0]["ticket"])


def _key(label: str) -> tuple[str, str]:
    """The prefix of a label and the rest, for comparison."""
    start, _, end = label.upper().rpartition("-")
    return start, end.lstrip("0")


def _search(ctx: typer.Context, queue: str, text: str) -> list[dict[str, Any]]:
    """All tickets that a search finds, ordered by number."""
    found: list[dict[str, Any]] = []
    cursor = None
    while True:
        page = api(ctx).get(f"/queues/{part(queue)}/tickets", search=text, limit=500, cursor=cursor)
        found += page["tickets"]
        if not (cursor := page["cursor"]):
            return sorted(found, key=lambda ticket: int(ticket["ticket"]))


def _print_status(ticket: dict[str, Any], more: str = "") -> None:
    place = f", at position {ticket['position']:,}" if ticket.get("position") else ""
    why = f" ({ticket['reason'].replace('_', ' ')})" if ticket.get("reason") else ""
    state = "on hold" if ticket.get("on_hold") else ticket["status"]
    show.console.print(f"Ticket [bold]{show.safe(ticket['label'])}[/] is {show.safe(state + why + place + more)}.")
