"""`fairline queue …`: the queues of a running server."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated, Any

import typer

from fairline.cli import show
from fairline.cli.client import part
from fairline.cli.options import Json, Queue, ServerCommands, api
from fairline.cli.pairs import Settings, WithSettings, pairs, unset_hint, unset_hints
from fairline.domain.queue_settings import SETTINGS
from fairline.domain.settings_groups import grouped_settings
from fairline.domain.ticket import label
from fairline.errors import InvalidRequest, ServerRefused

#: Longer values are cut in a table.
LONGEST = 60

app = ServerCommands("Show and change queues: fairline queue set sale admission_rate=40 max_active=2000")


@app.command("list")
def list_queues(ctx: typer.Context, json: Json = False) -> None:
    """List all queues, with the numbers of people waiting and inside."""
    found = api(ctx).get("/queues")
    if json:
        show.as_json(found)
        return
    columns = ("queue", "status", "admission", "rate/s", "waiting", "inside", "max inside")
    fields = ("id", "status", "admission", "admission_rate", "waiting", "inside", "max_active")
    queues = ({**queue, "inside": queue["admitted"] + queue["active"]} for queue in found["queues"])
    lines = ([queue[field] for field in fields] for queue in queues)
    show.rows("Queues", columns, lines, "There is no queue yet. Create one: fairline queue create sale")


@app.command("show")
def show_queue(ctx: typer.Context, queue: Queue, json: Json = False) -> None:
    """Show the settings and the statistics of a queue."""
    settings, stats = (api(ctx).get(f"/queues/{part(queue)}{more}") for more in ("", "/stats"))
    if json:
        show.as_json({"settings": settings, "stats": stats})
        return
    numbers = {name: value for name, value in settings.items() if name not in SETTINGS}
    show.facts(f"Queue {queue}", numbers)
    show.console.print()
    for title, names in grouped_settings().items():
        show.facts(title, {name: settings[name] for name in names})
        show.console.print()
    show.facts("Statistics", stats)


@app.command(cls=WithSettings)
def create(ctx: typer.Context, queue: Queue, settings: Settings = []) -> None:  # noqa: B006
    """Create a queue: fairline queue create sale target_url=https://shop.example/ admission_rate=40"""
    given = pairs(settings)
    with _with_unset_hint(given):
        created = api(ctx).post("/queues", {"id": queue, **given})
    _print_status(created, "created")
    _print_hints(created, given)


@app.command("set", cls=WithSettings)
def set_settings(ctx: typer.Context, queue: Queue, settings: Settings) -> None:
    """Change settings: fairline queue set sale admission_rate=40 message="Back at noon" stock="""
    given = pairs(settings)
    with _with_unset_hint(given):
        changed = api(ctx).patch(f"/queues/{part(queue)}", given)
    _print_status(changed, "changed")
    _print_hints(changed, given)


@app.command()
def history(
    ctx: typer.Context,
    queue: Queue,
    before: Annotated[int | None, typer.Option(help="Only changes before this version.", min=1)] = None,
    limit: Annotated[int, typer.Option(help="The most changes to show.", min=1, max=200)] = 20,
    json: Json = False,
) -> None:
    """Show who changed which settings and when, newest first."""
    found = api(ctx).get(f"/queues/{part(queue)}/history", before=before, limit=limit)
    if json:
        show.as_json(found)
        return
    lines = (
        [str(each["version"]), each["at"], _who(each["by"]), _changes(each["changes"])] for each in found["revisions"]
    )
    show.rows(f"Settings of {queue}", ("version", "when", "who", "what"), lines, "There is none.")
    if found["cursor"]:
        show.console.print(f"[dim]There is more: add --before {show.safe(found['cursor'])}[/]")


@app.command()
def restore(
    ctx: typer.Context,
    queue: Queue,
    version: Annotated[
        int | None, typer.Argument(help="The version to restore. (default: the one before the last change)", min=1)
    ] = None,
) -> None:
    """Restore earlier settings: fairline queue restore sale undoes the last change"""
    path, headers = f"/queues/{part(queue)}/history", {}
    if version is None:
        seen = [each["version"] for each in api(ctx).get(path, limit=2)["revisions"]]
        if len(seen) < 2:
            raise InvalidRequest("", f"There is nothing to undo: the history of queue {queue} has no earlier version.")
        version = seen[1]
        headers = {"If_Match": f'"{seen[0]}"'}  # refused if another change came in between
    _print_status(api(ctx).post(f"{path}/{version}/restore", **headers), "as it was")


@app.command()
def pause(ctx: typer.Context, queue: Queue) -> None:
    """Pause admission: people can join, but nobody is let in."""
    _print_status(api(ctx).patch(f"/queues/{part(queue)}", {"status": "paused"}), "paused")


@app.command()
def resume(ctx: typer.Context, queue: Queue) -> None:
    """Let people in again."""
    _print_status(api(ctx).patch(f"/queues/{part(queue)}", {"status": "active"}), "active")


@app.command()
def maintenance(ctx: typer.Context, queue: Queue) -> None:
    """Start maintenance: nobody can join, and nobody is let in. The page says so."""
    _print_status(api(ctx).patch(f"/queues/{part(queue)}", {"status": "maintenance"}), "in maintenance")


@app.command("open")
def open_queue(ctx: typer.Context, queue: Queue) -> None:
    """Open a queue after maintenance or a pause: people can join and are let in."""
    _print_status(api(ctx).patch(f"/queues/{part(queue)}", {"status": "active"}), "open")


@app.command()
def kiosk(
    ctx: typer.Context,
    queue: Queue,
    prints: Annotated[bool, typer.Option("--print", help="Print each ticket automatically.")] = False,
) -> None:
    """Create a link that turns a tablet into a kiosk for taking numbers. It works as long as your key does."""
    created = api(ctx).post(f"/queues/{part(queue)}/kiosk", {"print": prints})
    url = created["url"] if created["url"].startswith("http") else f"{api(ctx).url}{created['url']}"
    show.console.print(f"Open this link once on the tablet:\n{url}", soft_wrap=True, markup=False)


@app.command("user-token-key")
def user_token_key(ctx: typer.Context, queue: Queue) -> None:
    """Show the key with which your site signs who a visitor of this queue is. Keep it on your server."""
    show.console.print(api(ctx).get(f"/queues/{part(queue)}/user-token-key")["key"], soft_wrap=True, markup=False)


@app.command()
def delete(
    ctx: typer.Context,
    queue: Queue,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
) -> None:
    """Delete a queue and all its tickets."""
    if not yes:
        typer.confirm(f"Delete queue {queue} and all its tickets?", abort=True)
    api(ctx).delete(f"/queues/{part(queue)}")
    show.console.print(f"Queue [bold]{show.safe(queue)}[/] is removed.")


@contextmanager
def _with_unset_hint(given: dict[str, Any]) -> Iterator[None]:
    """If the server refuses a setting, add to its message how to unset it."""
    try:
        yield
    except ServerRefused as error:
        raise ServerRefused(error.message + unset_hint(given, error.message)) from None


def _print_hints(queue: dict[str, Any], given: dict[str, Any]) -> None:
    for hint in unset_hints(given):
        show.console.print(hint, markup=False)
    if given.keys() & {"ticket_prefix", "series"}:
        serial = f"{queue['series'][0]}0001" if queue["series"] else ""
        like = label(queue["ticket_prefix"] or queue["id"].upper(), 1, serial)
        show.console.print(f"The labels of its tickets are like [bold]{show.safe(like)}[/].")


def _who(by: dict[str, Any] | None) -> str:
    return "Fairline" if by is None else by["name"] or by["id"]


def _changes(changes: dict[str, Any] | None) -> str:
    """The changes, one line for each setting. Long texts are cut."""
    if changes is None:
        return "(the version before it is no longer stored)"
    lines = (f"{name}: {_short(change['from'])} → {_short(change['to'])}" for name, change in changes.items())
    return "\n".join(lines) or "nothing"


def _short(value: Any) -> str:
    text = " ".join(show.plain(value).split()) or "(empty)"
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"


def _print_status(queue: dict[str, Any], what: str) -> None:
    inside = queue["admitted"] + queue["active"]
    if queue["admission"] == "manual":
        flow = f"people are called by staff, {queue['waiting']:,} waiting, {inside:,} called or served."
    else:
        flow = (
            f"{queue['admission_rate']:g} a second, {queue['waiting']:,} waiting, "
            f"{inside:,} of {queue['max_active']:,} inside."
        )
    status = "" if queue["status"] in what else f"{queue['status']}, "
    show.console.print(f"Queue [bold]{show.safe(queue['id'])}[/] is {what}: {show.safe(status)}{flow}")
