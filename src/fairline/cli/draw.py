"""`fairline draw …`: what is published of a draw, and the check of it, which needs no server."""

from __future__ import annotations

import json as standard_json
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table

from fairline.cli import show
from fairline.cli.client import Api, part
from fairline.cli.options import Json, ServerCommands, api
from fairline.errors import UnreadableDraw

app = ServerCommands("Show a draw, fetch what is published of it, and check it: fairline draw verify draw.json")

Draw = Annotated[str, typer.Argument(help="The id of the draw, such as sale.1f0c9a77b2.", metavar="ID")]
MARKS = {True: "[green]ok[/]", False: "[red]wrong[/]", None: "[yellow]not checked[/]"}


@app.command("show")
def show_draw(ctx: typer.Context, draw: Draw, json: Json = False) -> None:
    """Show what is published of a draw at this moment. This needs no admin key."""
    found = api(ctx).public(f"/draws/{part(draw)}")
    if json:
        show.as_json(found)
    else:
        show.facts(f"Draw {draw}", found)


@app.command()
def fetch(
    ctx: typer.Context,
    draw: Draw,
    out: Annotated[Path, typer.Option(help="The file to write.", dir_okay=False)],
    token: Annotated[
        str | None, typer.Option(help="The token of a ticket that was in the draw, to add its receipt.")
    ] = None,
) -> None:
    """Fetch all that is published of a draw into one file. This needs no admin key."""
    found = _fetched(api(ctx), draw, token)
    try:
        out.write_text(standard_json.dumps(found) + "\n", encoding="utf-8")
    except OSError as error:
        raise UnreadableDraw(f"{out} cannot be written: {error.strerror or error}") from None
    people = len(found["entries"])
    show.console.print(f"{people:,} people were drawn. Check it: fairline draw verify {show.safe(out)}")


@app.local_command()
def verify(
    file: Annotated[Path, typer.Argument(help="The file with the draw, as 'fairline draw fetch' writes it.")],
    chain_key: Annotated[
        str | None,
        typer.Option(help="The public key of the draw's chain in hex, if it is not quicknet.", metavar="HEX"),
    ] = None,
    json: Json = False,
) -> None:
    """Check a draw. This needs no server and no network. Exit code 1 if something is wrong."""
    from fairline.domain.draw_check import check_draw, is_refused, read_draw_file  # only this needs it

    try:
        content = file.read_bytes()
    except OSError as error:
        raise UnreadableDraw(f"{file} cannot be read: {error.strerror or error}") from None
    found = read_draw_file(content)
    checks = check_draw(found, chain_key)
    refused = is_refused(checks)
    if json:
        rows = [{"name": each.name, "passed": each.passed, "found": each.found} for each in checks]
        show.as_json({"draw": found.draw.id, "refused": refused, "checks": rows})
    else:
        table = Table(box=None, show_header=False, padding=(0, 2, 0, 0))
        for each in checks:
            table.add_row(MARKS[each.passed], each.name, show.safe(each.found))
        show.console.print(table)
        show.console.print(_verdict(checks, refused))
    if refused:
        raise typer.Exit(1)


def _verdict(checks: list[Any], refused: bool) -> str:
    if refused:
        wrong = ", ".join(each.name for each in checks if each.passed is False)
        return f"\n[red]This draw is wrong:[/] {wrong}."
    missing = ", ".join(each.name for each in checks if each.passed is None)
    return "\nAll that was checked is right" + (f". Not checked: {missing}." if missing else ".")


def _fetched(server: Api, draw: str, token: str | None) -> dict[str, Any]:
    found = {"draw": server.public(f"/draws/{part(draw)}")}
    if found["draw"].get("drawn_at") is None:
        raise UnreadableDraw("The order has not been drawn yet. Fetch it after the draw.")
    found["entries"] = server.public(f"/draws/{part(draw)}/entries")
    if token is not None:
        found["receipt"] = server.public("/draw/receipt", token)
    return found
