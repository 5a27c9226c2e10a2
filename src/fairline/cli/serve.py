"""`fairline serve`: runs the server."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.markup import escape

from fairline.cli import show
from fairline.process.secrets import ADMIN_KEY
from fairline.settings import ServerRole, ServerSettings, load, unknown_variables

if TYPE_CHECKING:
    from fairline.process.supervisor import Prepared, Supervisor

#: Called with the server's URL and an admin key. Returns lines to print first, by name.
OnReady = Callable[[str, str], dict[str, str]]


def serve(
    host: Annotated[
        str | None, typer.Option(help="The address to listen on. (default: 127.0.0.1)", show_default=False)
    ] = None,
    port: Annotated[int | None, typer.Option(help="The port; 0 chooses a free one. (default: 8080)")] = None,
    store: Annotated[
        str | None,
        typer.Option(
            help="embedded, valkey://…, redis://…, valkey+cluster://…, postgresql://…, embedded-postgres "
            "(default: embedded)"
        ),
    ] = None,
    data: Annotated[Path | None, typer.Option(help="Folder of the embedded store and of generated secrets.")] = None,
    workers: Annotated[int | None, typer.Option(help="Number of HTTP processes. (default: one per core)")] = None,
    role: Annotated[
        ServerRole | None, typer.Option(help="The part of the work that this machine does. (default: all)")
    ] = None,
    config: Annotated[
        Path | None, typer.Option(help="A TOML or YAML file. (default: fairline.toml, if it exists)")
    ] = None,
) -> None:
    """Run the server.

    Settings come from the defaults, the file, FAIRLINE_* variables and these flags. The later ones win.
    """
    flags = {"host": host, "port": port, "store": store, "data": data, "workers": workers, "role": role}
    raise typer.Exit(run({**flags, "config": config}))


def run(given: dict[str, Any], on_ready: OnReady | None = None) -> int:
    """Run a server with the options of the command until it is stopped. Returns the exit code. `on_ready` is called
    once the server is ready."""
    # Imported here because the server loads slowly, and no other command needs it.
    from fairline.logs import set_up_logs
    from fairline.process.running_server import published
    from fairline.process.supervisor import Supervisor
    from fairline.store import EMBEDDED, store_left_behind

    flags = dict(given)
    config = flags.pop("config")
    settings = load(file=Path(config) if config else None, flags=flags, serving=True)
    for warning in unknown_variables():
        show.warning(warning)
    if other := store_left_behind(settings.store, settings.data):
        show.warning(
            f"{settings.store} starts empty in {settings.data}, which contains the data of {other}. "
            f"To continue with that data, add --store {other}"
        )
    if settings.role is not ServerRole.ALL and settings.store in EMBEDDED:
        show.warning(
            f"No other server can use the store {settings.store}, so a {settings.role} finds no counterpart. Leave out "
            "--role, or name a store for all servers with --store."
        )
    set_up_logs(settings.log_format)
    supervisor = Supervisor(settings)
    try:
        prepared = supervisor.prepare()
    except BaseException:
        supervisor.close()
        raise

    def ready() -> None:
        first = on_ready(f"http://{supervisor.address}", supervisor.first_key()) if on_ready and supervisor.port else {}
        with contextlib.suppress(OSError):  # nobody reads the output, or its disk is full: the server runs anyway
            _print_ready(settings, supervisor, prepared, first)

    with published(settings.data, f"http://{supervisor.address}" if supervisor.port else None):
        return supervisor.run(ready, _print_waiting)


#: What a server that is not ready waits for, by the check that fails.
WAITS = {
    "keeper": "[yellow]Waiting for a keeper.[/] None has run recently on this store, so nobody is let in. Start one on "
    "any machine: [bold]fairline serve --role keeper[/]",
    "store": "[yellow]Waiting for the store.[/] It does not answer. [bold]fairline doctor[/] may say why.",
}


def _print_waiting(check: str) -> None:
    if check in WAITS:
        with contextlib.suppress(OSError):
            show.console.print(WAITS[check], soft_wrap=True)


def _print_ready(settings: ServerSettings, supervisor: Supervisor, prepared: Prepared, first: dict[str, str]) -> None:
    console = show.console
    lines = dict(first)
    if supervisor.port is None:
        console.print("[bold]The keeper of Fairline is running.[/] Ctrl-C ends it.")
        lines["it needs"] = "a web server on the same store, with the same FAIRLINE_SECRET"
    else:
        console.print("[bold green]Fairline is ready.[/] Ctrl-C ends it.")
        base = f"http://{supervisor.address}"
        if settings.role is ServerRole.WEB:
            lines["it needs"] = "a keeper on the same store, with the same FAIRLINE_SECRET: one runs"
        lines |= {"the dashboard": f"{base}/admin", "API documentation": f"{base}/docs"}
        if prepared.has_demo and not first:
            lines["a waiting page"] = f"{base}/q/demo  [dim](nobody is in line, so it lets you in at once)[/]"
            lines["to see a wait"] = "fairline queue pause demo, open that page, then: fairline queue resume demo"
            lines["join by the API"] = f"curl -X POST {base}/api/v1/queues/demo/join"
    lines["admin key"] = _key_line(settings, prepared)
    lines["data folder"] = escape(str(settings.data.absolute()))
    for name, line in lines.items():
        console.print(f"[dim]{name:<20}[/]  {line}", soft_wrap=True)


def _key_line(settings: ServerSettings, prepared: Prepared) -> str:
    """Where to find the admin key; the key itself only if it was just created."""
    if settings.admin_key:
        return "from FAIRLINE_ADMIN_KEY" if "FAIRLINE_ADMIN_KEY" in os.environ else "from the settings file"
    file = escape(str(settings.data.absolute() / ADMIN_KEY))
    if prepared.admin_key:
        return f"{prepared.admin_key}  [dim](shown only once; stored in {file})[/]"
    return f"in {file}"
