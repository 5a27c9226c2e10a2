"""`fairline webhook …`: the webhooks that receive events, and deliveries that failed."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from fairline.cli import show
from fairline.cli.client import part
from fairline.cli.options import Json, ServerCommands, api
from fairline.domain.webhook import Topic

app = ServerCommands("Signed deliveries of events, and dead letters.")

Id = Annotated[str, typer.Argument(help="The webhook's id.", metavar="ID")]


@app.command("list")
def list_webhooks(ctx: typer.Context, json: Json = False) -> None:
    """List all webhooks, without their secrets."""
    found = api(ctx).get("/webhooks")
    if json:
        show.as_json(found)
        return
    lines = (
        (
            *(hook["id"], hook["url"], hook["queue"] or "all", ", ".join(hook["events"]) or "all"),
            *(hook["active"], hook["pending"], hook["dead"]),
        )
        for hook in found["webhooks"]
    )
    columns = ("id", "URL", "queue", "events", "active", "pending", "dead")
    show.rows("Webhooks", columns, lines, "There is none. Create one with 'fairline webhook create URL'.")


@app.command()
def create(
    ctx: typer.Context,
    url: Annotated[str, typer.Argument(help="The URL to post to.", metavar="URL")],
    queue: Annotated[str | None, typer.Option(help="The queue whose events to send. (default: all)")] = None,
    event: Annotated[
        list[Topic] | None, typer.Option(help="An event to send; may be repeated. (default: every event, no notice)")
    ] = None,
    include_person: Annotated[
        bool, typer.Option("--include-person", help="Also send the person's name, phone number and other details.")
    ] = False,
    json: Json = False,
) -> None:
    """Create a webhook. Its secret is shown only once."""
    body = {"url": url, "queue": queue, "events": event or [], "include_person": include_person}
    found = api(ctx).post("/webhooks", body)
    if json:
        show.as_json(found)
        return
    show.console.print(
        f"{show.safe(found['secret'])}\n"
        f"[dim]The secret, shown only once. The webhook's id is {show.safe(found['id'])}.[/]"
    )


@app.command()
def pause(ctx: typer.Context, hook: Id) -> None:
    """Pause a webhook. Events wait until it is resumed."""
    api(ctx).patch(f"/webhooks/{part(hook)}", {"active": False})
    show.console.print(f"Webhook [bold]{show.safe(hook)}[/] is paused.")


@app.command()
def resume(ctx: typer.Context, hook: Id) -> None:
    """Resume a webhook from where it was paused."""
    api(ctx).patch(f"/webhooks/{part(hook)}", {"active": True})
    show.console.print(f"Webhook [bold]{show.safe(hook)}[/] is active.")


@app.command()
def test(ctx: typer.Context, hook: Id) -> None:
    """Send a ping now. Exit code 1 if it does not arrive."""
    found = api(ctx).post(f"/webhooks/{part(hook)}/test")
    if not found["delivered"]:
        show.console.print(f"The ping did not arrive: {found['error']}", markup=False)
        raise typer.Exit(1)
    show.console.print(f"The ping arrived in {found['seconds']:g} s.")


@app.command()
def dead(
    ctx: typer.Context,
    hook: Id,
    limit: Annotated[int, typer.Option(help="The most dead letters to show.", min=1, max=100)] = 50,
    json: Json = False,
) -> None:
    """List the dead letters of a webhook, oldest first."""
    show_dead(api(ctx).get(f"/webhooks/{part(hook)}/deliveries", state="dead", limit=limit), limit, json)


def show_dead(found: dict[str, Any], limit: int, json: bool) -> None:
    """Print dead letters."""
    if json:
        show.as_json(found)
        return
    fields = ("queue", "ticket", "at", "died_at", "error")
    lines = (
        [letter["id"], letter["notice"] or letter["type"], *(letter[field] for field in fields)]
        for letter in found["deliveries"]
    )
    columns = ("id", "what", "queue", "ticket", "happened", "given up", "error")
    show.rows("Dead letters", columns, lines, "There is none.")
    if found["cursor"]:
        show.console.print(f"[dim]There are more; raise --limit (now {limit}), or use the API's cursor.[/]")


@app.command()
def replay(
    ctx: typer.Context,
    hook: Id,
    delivery: Annotated[str | None, typer.Argument(help="One dead letter. (default: all)", metavar="DELIVERY")] = None,
) -> None:
    """Send one dead letter again, or all of them."""
    path = f"/webhooks/{part(hook)}" + (f"/deliveries/{part(delivery)}" if delivery else "")
    count = api(ctx).post(f"{path}/replay")["replayed"]
    show.console.print(f"{count:,} {'is' if count == 1 else 'are'} sent again.")


@app.command()
def remove(ctx: typer.Context, hook: Id) -> None:
    """Remove a webhook and everything that it has not sent yet."""
    api(ctx).delete(f"/webhooks/{part(hook)}")
    show.console.print(f"Webhook [bold]{show.safe(hook)}[/] is removed.")
