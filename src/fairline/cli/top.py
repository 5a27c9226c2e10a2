"""`fairline top`: the queues of a running server, live in a terminal."""

from __future__ import annotations

import contextlib
import select
import sys
import threading
import time
from collections.abc import Iterator
from datetime import datetime
from typing import Annotated, Any

import typer
from rich.console import Group, RenderableType
from rich.live import Live
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from fairline.cli import show, units
from fairline.cli.chart import sparkline
from fairline.cli.client import Api
from fairline.cli.options import Data, Key, Server
from fairline.cli.watch import Seen, Watch

#: How often keys are read and the screen is drawn, whatever the server does.
FRAME_SECONDS = 0.25
SPARKS = 24
MARKS = {"active": "green", "paused": "yellow", "maintenance": "red"}


def top(
    queue: Annotated[str | None, typer.Argument(help="Only this queue.", metavar="[QUEUE]")] = None,
    every: Annotated[
        float, typer.Option(parser=units.seconds, help="The time between two looks.", metavar="TIME")
    ] = "1s",  # type: ignore[assignment]
    once: Annotated[bool, typer.Option("--once", help="Print one look, and end.")] = False,
    server: Server = None,
    key: Key = None,
    data: Data = None,
) -> None:
    """Watch the queues of a running server: lines, rates, waits, events, health. q or Ctrl-C ends it."""
    if not 0.2 <= every <= 3600:
        raise typer.BadParameter("must be from 0.2s to 1h", param_hint="--every")
    watch = Watch(Api(server, key, data), queue)
    watch.look()  # a wrong address, key or name is said at once
    if once:
        show.console.print(frame(watch, show.console.height))
        return
    with contextlib.suppress(KeyboardInterrupt):
        if show.console.is_terminal and sys.stdin.isatty():
            _live(watch, every)
        else:
            _plain(watch, every)


def _live(watch: Watch, every: float) -> None:
    ending = threading.Event()

    def look_on() -> None:
        while not ending.wait(every):
            watch.try_to_look()

    # Looks are made beside the screen: a server that hangs must not keep anyone from ending this.
    threading.Thread(target=look_on, daemon=True).start()
    try:
        with _keys() as pressed, Live(console=show.console, screen=True, auto_refresh=False) as live:
            while True:
                live.update(frame(watch, show.console.height, hint=True), refresh=True)
                if pressed(FRAME_SECONDS) in {"q", "Q", "\x1b", "\x03"}:
                    return
    finally:
        ending.set()


def _plain(watch: Watch, every: float) -> None:
    """Without a terminal, one look after the other."""
    while True:
        show.console.print(frame(watch, show.console.height))
        time.sleep(every)
        watch.try_to_look()


@contextlib.contextmanager
def _keys() -> Iterator[Any]:
    """A function that waits some seconds for a key, and answers which; the terminal is left as it was."""
    import termios
    import tty

    before = termios.tcgetattr(sys.stdin)
    tty.setcbreak(sys.stdin)

    def pressed(seconds: float) -> str:
        ready, _, _ = select.select([sys.stdin], [], [], seconds)
        return sys.stdin.read(1) if ready else ""

    try:
        yield pressed
    finally:
        termios.tcsetattr(sys.stdin, termios.TCSADRAIN, before)


def frame(watch: Watch, height: int, *, hint: bool = False) -> RenderableType:
    """All that is known at this moment, in at most so many rows."""
    seen = list(watch.queues.items())
    rows = len(seen) + 8
    parts: list[RenderableType] = [_head(watch), "", _queues(seen)]
    if watch.more:
        parts.append(Text(f"… and {watch.more:,} more, with fewer in line", style="dim"))
    if not seen:
        parts.append(Text("There is no queue yet. Make one: fairline queue create sale"))
    events = list(watch.events)[-max(3, height - rows) :]
    if events:
        parts += ["", Text("Events", style="bold"), _events(events)]
    if hint:
        parts += ["", Text("q ends it", style="dim")]
    return Group(*parts)


def _head(watch: Watch) -> Text:
    head = Text.from_markup(f"[bold]Fairline[/] at {escape(watch.url)}   ")
    for name, state in watch.checks.items():
        head.append(f"{name} ", style="dim")
        head.append(state, style="green" if state == "ok" else "bold red")
        head.append("   ")
    seen = f"{datetime.fromtimestamp(watch.seen_at).astimezone():%H:%M:%S}" if watch.seen_at else "the start"
    if watch.trouble:
        head.append(f"{watch.trouble} since {seen}", style="bold red")
    else:
        head.append(seen, style="dim")
    return head


def _queues(seen: list[tuple[str, Seen]]) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim")
    for name in ("queue", "status"):
        table.add_column(name, no_wrap=True)
    for name in ("waiting", "inside", "of", "joined/min", "in/min", "rate/min", "p50", "p90", "done", "gone"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("line", no_wrap=True)
    for name, each in seen:
        queue, stats = each.queue, each.stats
        hand = queue["admission"] == "manual"
        table.add_row(
            f"[bold]{escape(name)}[/]",
            f"[{MARKS.get(queue['status'], 'default')}]{queue['status']}[/]",
            f"[bold]{stats['waiting']:,}[/]",
            f"{stats['admitted'] + stats['active']:,}",
            f"{queue['max_active']:,}",
            f"{stats['joins_per_minute']:,}",
            f"{stats['admissions_per_minute']:,}",
            "by hand" if hand else f"{queue['admission_rate'] * 60:,.4g}",
            units.words(stats["wait_p50_seconds"]),
            units.words(stats["wait_p90_seconds"]),
            f"{stats['completed']:,}",
            f"{stats['expired']:,}",
            sparkline(each.line, SPARKS),
        )
    return table


def _events(events: list[tuple[str, dict[str, Any]]]) -> Table:
    table = Table(box=None, show_header=False, padding=(0, 2, 0, 0))
    for queue, event in reversed(events):
        at = datetime.fromisoformat(event["at"]).astimezone()
        ticket = "" if event["ticket"] is None else f"ticket {event['ticket']:,}"
        table.add_row(
            f"[dim]{at:%H:%M:%S}[/]",
            escape(queue),
            event["type"].replace("_", " "),
            ticket,
            f"[dim]{escape((event['detail'] or '').replace('_', ' '))}[/]",
        )
    return table
