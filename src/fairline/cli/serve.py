"""`fairline serve`."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from fairline.settings import ServerRole, load

if TYPE_CHECKING:
    from fairline.web.supervisor import Prepared, Supervisor


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
    # The whole server: no other command has to wait for it.
    from fairline.logs import set_up_logs
    from fairline.web.supervisor import Supervisor

    flags = {"host": host, "port": port, "store": store, "data": data, "workers": workers, "role": role}
    settings = load(file=config, flags=flags)
    set_up_logs(settings.log_format)
    supervisor = Supervisor(settings)
    try:
        prepared = supervisor.prepare()
    except BaseException:
        supervisor.close()
        raise

    def ready() -> None:
        with contextlib.suppress(OSError):  # nobody reads it, or the disk behind it is full: it serves all the same
            _say_ready(supervisor, prepared)

    raise typer.Exit(supervisor.run(ready))


def _say_ready(supervisor: Supervisor, prepared: Prepared) -> None:
    console = Console()
    if supervisor.port is None:
        console.print("[bold]Fairline[/] keeps the queues.")
        return
    base = f"http://{supervisor.address}"
    lines = {"API, to read and try": f"{base}/docs", "the dashboard": f"{base}/admin"}
    if prepared.has_demo:
        lines["a waiting page"] = f"{base}/q/demo"
        lines["join it"] = f"curl -X POST {base}/api/v1/queues/demo/join"
    if prepared.admin_key:
        lines["admin key"] = f"{prepared.admin_key}  [dim](shown this once; kept in the data folder)[/]"
    console.print("[bold green]Fairline is ready.[/] Ctrl-C ends it.")
    for name, line in lines.items():
        console.print(f"[dim]{name:<20}[/]  {line}", highlight=False, soft_wrap=True)
