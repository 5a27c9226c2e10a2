"""`fairline`: the commands, put together."""

from __future__ import annotations

import sys

import typer
from rich.console import Console

from fairline.cli.serve import serve
from fairline.errors import FairlineError

app = typer.Typer(
    name="fairline",
    help="A fair waiting line for websites and counters.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
app.command()(serve)


@app.callback()
def root() -> None:
    """A fair waiting line for websites and counters."""


def main() -> None:
    """Run a command; an error of ours is one clear line, not a stack trace."""
    try:
        app()
    except FairlineError as error:
        Console(stderr=True).print(f"[red]Error:[/] {error.message}", highlight=False)
        sys.exit(1)
