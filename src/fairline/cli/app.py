"""The `fairline` program with all its commands."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from fairline import __version__
from fairline.cli import db, desk, draw, keys, mail, opening, queue, show, ticket, webhook
from fairline.cli.audit import audit
from fairline.cli.backup import backup, restore
from fairline.cli.doctor import doctor
from fairline.cli.ready import ready
from fairline.cli.report import report
from fairline.cli.serve import serve
from fairline.cli.simulate import simulate_command
from fairline.cli.top import top
from fairline.errors import FairlineError

app = typer.Typer(
    name="fairline",
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
)
app.command()(serve)
app.command()(doctor)
app.command()(ready)
app.command()(backup)
app.command()(restore)
app.command()(audit)
app.command()(report)
app.command("simulate")(simulate_command)
app.command()(top)
app.add_typer(queue.app, name="queue")
app.add_typer(opening.app, name="opening")
app.add_typer(draw.app, name="draw")
app.add_typer(ticket.app, name="ticket")
app.add_typer(desk.app, name="desk")
app.add_typer(keys.app, name="keys")
app.add_typer(webhook.app, name="webhook")
app.add_typer(mail.app, name="mail")
app.add_typer(db.app, name="db")


def _version(wanted: bool) -> None:
    if wanted:
        print(f"fairline {__version__}")
        raise typer.Exit


@app.callback(
    epilog="Start with [bold]fairline serve[/], then [bold]fairline queue list[/] in another terminal. "
    "On the night: [bold]fairline queue set sale admission_rate=40[/], [bold]fairline queue pause sale[/]."
)
def root(
    version: Annotated[
        bool, typer.Option("--version", "-V", "-v", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """A fair waiting line for websites and walk-in desks."""


def main() -> None:
    """Run a command. An error of Fairline is printed as one clear line, without a stack trace."""
    show.replace_unencodable_characters()
    try:
        try:
            app()
        finally:
            show.flush()  # here, because an error at the end of the process cannot be reported
    except FairlineError as error:
        show.error(error.message)
        sys.exit(1)
    except OSError as error:
        if not show.cannot_write_output():
            raise
        if not isinstance(error, BrokenPipeError):  # a reader that stopped reading wants no message
            show.error(
                f"The output cannot be written ({error.strerror}). Make room, or send it elsewhere. "
                "The command itself may have succeeded."
            )
        sys.exit(1)
