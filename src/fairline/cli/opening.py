"""`fairline opening …`: the scheduled starts of a queue."""

from __future__ import annotations

import time
from typing import Annotated, Any
from zoneinfo import ZoneInfo

import typer

from fairline.cli import show, units
from fairline.cli.client import Api, part
from fairline.cli.options import Json, Queue, ServerCommands, api
from fairline.cli.pairs import pairs
from fairline.cli.times import local, moment
from fairline.domain.calendar import zone_named
from fairline.domain.opening import After, DrawKind
from fairline.errors import InvalidRequest

app = ServerCommands(
    "Plan scheduled starts: fairline opening plan sale --prequeue '2027-01-15 09:30' --starts '2027-01-15 10:00' "
    "--draw random"
)

#: What is typed for a time that is not wanted.
NONE = "none"
#: How often a rehearsal is asked how far it is.
POLL_SECONDS = 0.5
_MARKS = {"ok": "[green]ok[/]", "look": "[yellow]look[/]", "problem": "[red]problem[/]"}
_TIMES = {"prequeue": "prequeue_at", "starts": "starts_at", "ends": "ends_at"}
_WHEN = "RFC 3339, or '2027-01-15 10:00' in the time zone of the queue, or +10m from now"

Opening = Annotated[str, typer.Argument(help="The opening: its id or its name.", metavar="OPENING")]
Name = Annotated[str | None, typer.Option(help="What operators call it.")]
Prequeue = Annotated[
    str | None,
    typer.Option(help=f"From when people can join, in no order yet: {_WHEN}. Needed with a draw.", metavar="TIME"),
]
Starts = Annotated[str, typer.Option(help=f"When people are let in: {_WHEN}.", metavar="TIME")]
Ends = Annotated[str | None, typer.Option(help=f"When it ends: {_WHEN}. (default: when it is deleted)", metavar="TIME")]
Draw = Annotated[DrawKind | None, typer.Option(help="random draws the order of those who joined before the start.")]
Grace = Annotated[
    float | None,
    typer.Option(
        parser=units.seconds, help="People who join within this time after the start are drawn too.", metavar="TIME"
    ),
]
Setting = Annotated[
    list[str] | None,
    typer.Option(
        help="A setting of the queue that is in force meanwhile, such as admission_rate=40; name= leaves it as in the "
        "queue. Can be given several times.",
        metavar="NAME=VALUE",
    ),
]
AddStock = Annotated[int | None, typer.Option(help="How much is added to the stock at the start.", min=1)]
Recheck = Annotated[
    bool | None, typer.Option(help="Whether the sessions of people who got in before end at the start.")
]
AfterEnd = Annotated[After | None, typer.Option(help="What its end does: restore the settings, or close the queue.")]


@app.command("list")
def list_openings(ctx: typer.Context, queue: Queue, json: Json = False) -> None:
    """List the openings of a queue: those to come, the one in progress, and the last that have ended."""
    found = api(ctx).get(f"/queues/{part(queue)}/openings")
    if json:
        show.as_json(found)
        return
    zone = _zone(api(ctx), queue)
    columns = ("name", "state", "pre-queue", "starts", "ends", "draw", "drawn", "id")
    lines = (
        [each["name"], _state(each), *_local(each, zone).values(), each["draw"], each["count"], each["id"]]
        for each in found["openings"]
    )
    empty = f"No opening is planned. Plan one: fairline opening plan {show.safe(queue)} --starts '2027-01-15 10:00'"
    show.rows(f"Openings of {queue}, in {zone.key}", columns, lines, empty)


@app.command("show")
def show_opening(ctx: typer.Context, queue: Queue, opening: Opening, json: Json = False) -> None:
    """Show one opening."""
    found = _found(api(ctx), queue, opening)
    if json:
        show.as_json(found)
        return
    zone = _zone(api(ctx), queue)
    show.facts(f"Opening of {queue}, in {zone.key}", found | _local(found, zone))


@app.command()
def plan(
    ctx: typer.Context,
    queue: Queue,
    starts: Starts,
    name: Name = None,
    prequeue: Prequeue = None,
    ends: Ends = None,
    draw: Draw = None,
    grace: Grace = None,
    setting: Setting = None,
    add_stock: AddStock = None,
    recheck_inside: Recheck = None,
    after: AfterEnd = None,
    json: Json = False,
) -> None:
    """Plan an opening."""
    times = {"prequeue": prequeue, "starts": starts, "ends": ends}
    body = _body(_zone(api(ctx), queue), times, name, draw, grace, add_stock, recheck_inside, after)
    planned = api(ctx).post(f"/queues/{part(queue)}/openings", body | {"settings": _changed_settings({}, setting)})
    _print(api(ctx), queue, planned, "planned", json)


@app.command()
def change(
    ctx: typer.Context,
    queue: Queue,
    opening: Opening,
    starts: Annotated[str | None, typer.Option(help=f"When people are let in: {_WHEN}.", metavar="TIME")] = None,
    name: Name = None,
    prequeue: Prequeue = None,
    ends: Ends = None,
    draw: Draw = None,
    grace: Grace = None,
    setting: Setting = None,
    add_stock: AddStock = None,
    recheck_inside: Recheck = None,
    after: AfterEnd = None,
    json: Json = False,
) -> None:
    """Change what is given; all else stays. A time is removed with 'none': --ends none."""
    found = _found(api(ctx), queue, opening)
    times = {"prequeue": prequeue, "starts": starts, "ends": ends}
    body = _body(_zone(api(ctx), queue), times, name, draw, grace, add_stock, recheck_inside, after)
    if setting:
        body["settings"] = _changed_settings(found["settings"], setting)
    if not body:
        raise InvalidRequest("", "Name what to change, such as --starts '2027-01-15 10:00'. -h lists the options.")
    changed = api(ctx).patch(_path(queue, found), body)
    _print(api(ctx), queue, changed, "changed", json)


@app.command()
def delete(
    ctx: typer.Context,
    queue: Queue,
    opening: Opening,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
) -> None:
    """Delete an opening. One that is in progress is over: the settings from before it are in force again."""
    found = _found(api(ctx), queue, opening)
    if not yes:
        more = f" It is {found['state']} now." if found["state"] not in ("scheduled", "ended") else ""
        typer.confirm(f"Delete the opening {found['name'] or found['id']}?{more}", abort=True)
    api(ctx).delete(_path(queue, found))
    show.console.print(f"Opening [bold]{show.safe(found['name'] or found['id'])}[/] is deleted.")


@app.command()
def preview(ctx: typer.Context, queue: Queue, opening: Opening, json: Json = False) -> None:
    """Show what the settings of the queue will be while an opening is in progress."""
    found = _found(api(ctx), queue, opening)
    then = api(ctx).get(f"{_path(queue, found)}/preview")
    if json:
        show.as_json(then)
        return
    now = api(ctx).get(f"/queues/{part(queue)}")
    changes = {
        name: f"{show.plain(now[name])} → {show.plain(value)}" for name, value in then.items() if now[name] != value
    }
    if changes:
        show.facts(f"Settings of {queue} that change", changes)
    else:
        show.console.print("No setting of the queue changes. --json prints all of them.")


@app.command()
def check(
    ctx: typer.Context,
    queue: Queue,
    opening: Opening,
    people: Annotated[
        int | None, typer.Option(help="How many people are expected. (default: as many as there is stock)", min=1)
    ] = None,
    json: Json = False,
) -> None:
    """Look at an opening before its night, and say what to do. Ends with 1 if something has to be mended."""
    query = {} if people is None else {"people": people}
    found = api(ctx).get(f"{_path(queue, _found(api(ctx), queue, opening))}/checklist", **query)
    if json:
        show.as_json(found)
    else:
        for each in found["checks"]:
            advice = f"\n         [dim]{show.safe(each['advice'])}[/]" if each["advice"] else ""
            mark = f"{_MARKS[each['state']]}{' ' * (9 - len(each['state']))}"
            show.console.print(f"{mark}[bold]{show.safe(each['title'])}[/]: {show.safe(each['found'])}{advice}")
    if any(each["state"] == "problem" for each in found["checks"]):
        raise typer.Exit(1)


@app.command()
def rehearse(ctx: typer.Context, queue: Queue, opening: Opening, json: Json = False) -> None:
    """Run an opening in small on the server, with simulated people, in a hidden queue that is deleted afterwards. Ends
    with 1 if something went wrong."""
    path = f"{_path(queue, _found(api(ctx), queue, opening))}/rehearsal"
    found, printed = api(ctx).post(path, {}), 0
    while True:
        for step in [] if json else found["steps"][printed:]:
            mark = "[green]ok[/]    " if step["passed"] else "[red]failed[/]"
            show.console.print(f"{mark}  [bold]{show.safe(step['title'])}[/]: {show.safe(step['found'])}")
        printed = len(found["steps"])
        if found["state"] != "running":
            break
        time.sleep(POLL_SECONDS)
        found = api(ctx).get(path)["rehearsal"]
    if json:
        show.as_json(found)
    if found["state"] != "passed":
        raise typer.Exit(1)


def _body(
    zone: ZoneInfo,
    times: dict[str, str | None],
    name: str | None,
    draw: DrawKind | None,
    grace: float | None,
    add_stock: int | None,
    recheck_inside: bool | None,
    after: After | None,
) -> dict[str, Any]:
    """The fields of an opening that were given."""
    given = {
        "name": name,
        "draw": draw,
        "draw_grace_seconds": None if grace is None else round(grace),
        "add_stock": add_stock,
        "recheck_inside": recheck_inside,
        "after": after,
    }
    body: dict[str, Any] = {field: value for field, value in given.items() if value is not None}
    for option, text in times.items():
        if text is not None:
            body[_TIMES[option]] = None if text == NONE else moment(option, text, zone)
    return body


def _changed_settings(settings: dict[str, Any], given: list[str] | None) -> dict[str, Any]:
    typed = given or []
    inherited = {pair.removesuffix("=") for pair in typed if pair.endswith("=") and pair.count("=") == 1}
    return {name: value for name, value in (settings | pairs(typed)).items() if name not in inherited}


def _found(server: Api, queue: str, opening: str) -> dict[str, Any]:
    """An opening by its id or its name."""
    openings: list[dict[str, Any]] = server.get(f"/queues/{part(queue)}/openings")["openings"]
    named = [each for each in openings if each["id"] == opening] or [
        each for each in openings if each["name"] == opening
    ]
    if len(named) == 1:
        return named[0]
    problem = f"{len(named)} openings have this name: give the id" if named else "no opening has this id or name"
    raise InvalidRequest("opening", f"{problem}. They are listed by: fairline opening list {queue}")


def _path(queue: str, opening: dict[str, Any]) -> str:
    return f"/queues/{part(queue)}/openings/{part(opening['id'])}"


def _zone(server: Api, queue: str) -> ZoneInfo:
    return zone_named(server.get(f"/queues/{part(queue)}")["time_zone"])


def _local(opening: dict[str, Any], zone: ZoneInfo) -> dict[str, str | None]:
    return {field: local(opening[field], zone) for field in _TIMES.values()}


def _state(opening: dict[str, Any]) -> str:
    return "missed" if opening["missed"] else str(opening["state"])


def _print(server: Api, queue: str, opening: dict[str, Any], what: str, json: bool) -> None:
    if json:
        show.as_json(opening)
        return
    zone = _zone(server, queue)
    begins, starts, ends = _local(opening, zone).values()
    first = f"pre-queue {begins}, " if begins else ""
    last = f"ends {ends}" if ends else "without an end"
    called = opening["name"] or opening["id"]
    show.console.print(
        f"Opening [bold]{show.safe(called)}[/] of {show.safe(queue)} is {what}: {first}starts {starts}, {last} "
        f"({show.safe(zone.key)}). Its id is {show.safe(opening['id'])}."
    )
    if opening["draw"] == DrawKind.RANDOM:
        show.console.print(f"Its draw will be {show.safe(queue)}.{show.safe(opening['id'])}.")
