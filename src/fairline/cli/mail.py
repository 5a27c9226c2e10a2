"""`fairline mail …`: the set-up of mail, a test mail, and mail that was not delivered."""

from __future__ import annotations

from typing import Annotated

import typer

from fairline.cli import show
from fairline.cli.client import part
from fairline.cli.options import Json, ServerCommands, api
from fairline.cli.webhook import show_dead

app = ServerCommands("Notices by e-mail, and dead letters.")


@app.command()
def status(ctx: typer.Context, json: Json = False) -> None:
    """Show how mail is set up, and how many mails are waiting."""
    found = api(ctx).get("/mail")
    if json:
        show.as_json(found)
        return
    state = f"is sent from {found['sender']}" if found["set_up"] else "is not set up: see smtp_url and mail_from"
    show.console.print(f"Mail {state}.", markup=False)
    show.console.print(f"{found['pending']:,} to be sent, {found['dead']:,} dead.")


@app.command()
def test(
    ctx: typer.Context, to: Annotated[str, typer.Argument(help="The e-mail address to send to.", metavar="ADDRESS")]
) -> None:
    """Send a test mail now. Exit code 1 if the mail server does not accept it."""
    found = api(ctx).post("/mail/test", {"to": to})
    if not found["delivered"]:
        show.console.print(f"The mail server did not accept the test mail: {found['error']}", markup=False)
        raise typer.Exit(1)
    show.console.print(f"The mail server accepted the test mail in {found['seconds']:g} s.")


@app.command()
def dead(
    ctx: typer.Context,
    limit: Annotated[int, typer.Option(help="The most dead letters to show.", min=1, max=100)] = 50,
    json: Json = False,
) -> None:
    """List the dead letters, oldest first."""
    show_dead(api(ctx).get("/mail/deliveries", state="dead", limit=limit), limit, json)


@app.command()
def replay(
    ctx: typer.Context,
    delivery: Annotated[str | None, typer.Argument(help="One dead letter. (default: all)", metavar="DELIVERY")] = None,
) -> None:
    """Send one dead letter again, or all of them."""
    path = "/mail" + (f"/deliveries/{part(delivery)}" if delivery else "")
    count = api(ctx).post(f"{path}/replay")["replayed"]
    show.console.print(f"{count:,} {'is' if count == 1 else 'are'} sent again.")
