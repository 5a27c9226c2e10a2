"""`fairline keys …`: admin keys, and the keys that sign tokens."""

from __future__ import annotations

from typing import Annotated

import typer

from fairline.cli import show
from fairline.cli.client import part
from fairline.cli.options import Json, ServerCommands, api
from fairline.store import Role

app = ServerCommands("Admin keys with their roles, and the rotation of signing keys.")


@app.command("list")
def list_keys(ctx: typer.Context, json: Json = False) -> None:
    """List all admin keys, without their secret part."""
    found = api(ctx).get("/keys")
    if json:
        show.as_json(found)
        return
    lines = ((key["id"], key["role"], key["name"], key["created_at"]) for key in found["keys"])
    show.rows("Admin keys", ("id", "role", "name", "created"), lines, "There are no admin keys.")


@app.command()
def create(
    ctx: typer.Context,
    role: Annotated[
        Role, typer.Option(help="A viewer reads, an operator runs the line, an admin does everything.")
    ] = Role.VIEWER,
    name: Annotated[str, typer.Option(help="The name of its owner.")] = "",
    json: Json = False,
) -> None:
    """Create an admin key. It is shown only once."""
    found = api(ctx).post("/keys", {"role": role, "name": name})
    if json:
        show.as_json(found)
    else:
        show.console.print(
            f"{show.safe(found['key'])}\n"
            f"[dim]Shown only once: id {show.safe(found['id'])}, role {show.safe(found['role'])}.[/]"
        )


@app.command()
def remove(ctx: typer.Context, key_id: Annotated[str, typer.Argument(help="The key's id.", metavar="ID")]) -> None:
    """Remove an admin key. It stops working at once."""
    api(ctx).delete(f"/keys/{part(key_id)}")
    show.console.print(f"Key [bold]{show.safe(key_id)}[/] is removed.")


@app.command()
def rotate(ctx: typer.Context) -> None:
    """Sign tokens with new keys. Nobody loses their place. Rotating twice invalidates all older tokens."""
    found = api(ctx).post("/keys/rotate")
    show.console.print(
        f"Within seconds all new tokens are signed with generation [bold]{found['generation']}[/]. Those of generation "
        f"{found['generation'] - 1} remain valid."
    )
