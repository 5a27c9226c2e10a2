"""`fairline serve`."""

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

#: Is given the server's address and an admin key, and answers what to tell first, by name.
Beside = Callable[[str, str], dict[str, str]]


def serve(
    host: Annotated[str | None, typer.Option(help="Where to listen. (default: 127.0.0.1)", show_default=False)] = None,
    port: Annotated[int | None, typer.Option(help="The port; 0 takes a free one. (default: 8080)")] = None,
    store: Annotated[
        str | None,
        typer.Option(
            help="embedded, valkey://…, redis://…, valkey+cluster://…, postgresql://…, embedded-postgres "
            "(default: embedded)"
        ),
    ] = None,
    data: Annotated[Path | None, typer.Option(help="Folder of the embedded store and of generated secrets.")] = None,
    workers: Annotated[int | None, typer.Option(help="HTTP processes. (default: one a core)")] = None,
    role: Annotated[ServerRole | None, typer.Option(help="What this machine does. (default: all)")] = None,
    config: Annotated[Path | None, typer.Option(help="A TOML or YAML file. (default: fairline.toml, if there)")] = None,
) -> None:
    """Run the server.

    Settings come from (later wins) the defaults, the file, FAIRLINE_* variables, and these flags.
    """
    flags = {"host": host, "port": port, "store": store, "data": data, "workers": workers, "role": role}
    raise typer.Exit(run({**flags, "config": config}))


def run(given: dict[str, Any], beside: Beside | None = None) -> int:
    """Run a server by the options of the command until it is told to end; answers the exit code. `beside` starts what
    belongs to it once it is ready."""
    # The whole server: no other command has to wait for it.
    from fairline.logs import set_up_logs
    from fairline.process.running_server import published
    from fairline.process.supervisor import Supervisor
    from fairline.store import store_left_behind

    flags = dict(given)
    config = flags.pop("config")
    settings = load(file=Path(config) if config else None, flags=flags, serving=True)
    for warning in unknown_variables():
        show.warning(warning)
    if other := store_left_behind(settings.store, settings.data):
        show.warning(
            f"{settings.store} begins with nothing in {settings.data}, which has the data of {other}. "
            f"To go on with that: --store {other}"
        )
    set_up_logs(settings.log_format)
    supervisor = Supervisor(settings)
    try:
        prepared = supervisor.prepare()
    except BaseException:
        supervisor.close()
        raise

    def ready() -> None:
        first = beside(f"http://{supervisor.address}", supervisor.first_key()) if beside and supervisor.port else {}
        with contextlib.suppress(OSError):  # nobody reads it, or the disk behind it is full: it serves all the same
            _say_ready(settings, supervisor, prepared, first)

    with published(settings.data, f"http://{supervisor.address}" if supervisor.port else None):
        return supervisor.run(ready)


def _say_ready(settings: ServerSettings, supervisor: Supervisor, prepared: Prepared, first: dict[str, str]) -> None:
    console = show.console
    lines = dict(first)
    if supervisor.port is None:
        console.print("[bold]Fairline[/] keeps the queues. Ctrl-C ends it.")
    else:
        console.print("[bold green]Fairline is ready.[/] Ctrl-C ends it.")
        base = f"http://{supervisor.address}"
        lines |= {"the dashboard": f"{base}/admin", "API, to read and try": f"{base}/docs"}
        if prepared.has_demo and not first:
            lines["a waiting page"] = f"{base}/q/demo  [dim](nobody is in line, so it lets you in at once)[/]"
            lines["to see a wait"] = "fairline queue pause demo, open that page, then: fairline queue resume demo"
            lines["join by the API"] = f"curl -X POST {base}/api/v1/queues/demo/join"
    lines["admin key"] = _key_line(settings, prepared)
    lines["data folder"] = escape(str(settings.data.absolute()))
    for name, line in lines.items():
        console.print(f"[dim]{name:<20}[/]  {line}", soft_wrap=True)


def _key_line(settings: ServerSettings, prepared: Prepared) -> str:
    """Where the admin key is to be had; the key itself only where it was made just now."""
    if settings.admin_key:
        return "as FAIRLINE_ADMIN_KEY says" if "FAIRLINE_ADMIN_KEY" in os.environ else "as the settings file says"
    kept = escape(str(settings.data.absolute() / ADMIN_KEY))
    if prepared.admin_key:
        return f"{prepared.admin_key}  [dim](shown this once; kept in {kept})[/]"
    return f"in {kept}"
