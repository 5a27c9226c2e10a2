"""`fairline top`: the queues of a running server, live in a terminal."""

from __future__ import annotations

import contextlib
import select
import signal
import sys
import threading
import time
from collections.abc import Iterator
from datetime import datetime
from typing import Annotated, Any

import typer
from rich.console import Group, RenderableType
from rich.live import Live
from rich.table import Table
from rich.text import Text

from fairline.cli import show, units
from fairline.cli.chart import sparkline
from fairline.cli.client import Api
from fairline.cli.options import Data, Key, Server
from fairline.cli.watch import EventRun, Watch, WatchedQueue

#: How often keys are read and the screen is drawn, even while the server does not answer.
FRAME_SECONDS = 0.25
SPARKS = 24
COLUMNS = (
    *("queue", "status", "waiting", "inside", "of", "joined/min", "in/min", "rate/min", "p50", "p90", "done", "gone"),
    "line",
)
#: The terminal width that all columns need, and the columns left out below it.
WIDE, LEFT_OUT = 130, {"of", "rate/min", "p50", "done", "gone"}
MARKS = {"active": "green", "paused": "yellow", "maintenance": "red"}


def top(
    queue: Annotated[str | None, typer.Argument(help="Only this queue.", metavar="[QUEUE]")] = None,
    every: Annotated[
        float, typer.Option(parser=units.seconds, help="The time between two updates.", metavar="TIME")
    ] = "1s",  # type: ignore[assignment]
    once: Annotated[bool, typer.Option("--once", help="Print once, and end.")] = False,
    server: Server = None,
    key: Key = None,
    data: Data = None,
) -> None:
    """Watch the queues of a running server: lines, rates, waits, events, health. q or Ctrl-C ends it."""
    if not 0.2 <= every <= 3600:
        raise typer.BadParameter("must be from 0.2s to 1h", param_hint="--every")
    watch = Watch(Api(server, key, data), queue)
    watch.read()  # so that a wrong URL, key or name is an error at once
    if once:
        show.console.print(frame(watch, *show.console.size))
        return
    with contextlib.suppress(KeyboardInterrupt):
        if show.console.is_terminal and sys.stdin.isatty():
            _live(watch, every)
        else:
            _plain(watch, every)


def _live(watch: Watch, every: float) -> None:
    with _interrupts() as ending:

        def keep_reading() -> None:
            while not ending.wait(every):
                watch.try_to_read()

        # In a thread of its own, so that keys work while the server hangs.
        threading.Thread(target=keep_reading, daemon=True).start()
        with _keys() as pressed, Live(console=show.console, screen=True, auto_refresh=False) as live:
            while not ending.is_set():
                live.update(frame(watch, *show.console.size, hint=True), refresh=True)
                if pressed(FRAME_SECONDS) in {"q", "Q", "\x1b", "\x03"}:
                    return


@contextlib.contextmanager
def _interrupts() -> Iterator[threading.Event]:
    """An event that Ctrl-C sets. A KeyboardInterrupt would be lost if it came while an object is being freed."""
    ending = threading.Event()
    before = signal.signal(signal.SIGINT, lambda *_: ending.set())
    try:
        yield ending
    finally:
        ending.set()
        signal.signal(signal.SIGINT, before)


def _plain(watch: Watch, every: float) -> None:
    """Print one update after the other, without a terminal."""
    while True:
        show.console.print(frame(watch, *show.console.size))
        time.sleep(every)
        watch.try_to_read()


@contextlib.contextmanager
def _keys() -> Iterator[Any]:
    """A function that waits some seconds for a key and returns it. The terminal is restored at the end."""
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


def frame(watch: Watch, width: int, height: int, *, hint: bool = False) -> RenderableType:
    """The current state, for a terminal of this width and height."""
    seen = list(watch.queues.items())
    rows = len(seen) + 8
    parts: list[RenderableType] = [_head(watch), "", _queues(seen, width)]
    if watch.more:
        parts.append(Text(f"… and {watch.more:,} more, with fewer in line", style="dim"))
    if not seen:
        parts.append(Text("There is no queue yet. Create one: fairline queue create sale"))
    events = list(reversed(watch.events))[: max(3, height - rows)]
    if events:
        parts += ["", Text("Events", style="bold"), _events(events)]
    if hint:
        parts += ["", Text("q ends it", style="dim")]
    return Group(*parts)


def _head(watch: Watch) -> Text:
    head = Text.from_markup(f"[bold]Fairline[/] at {show.safe(watch.url)}   ")
    for name, state in ({} if watch.error else watch.checks).items():
        head.append(f"{name} ", style="dim")
        head.append(state, style="green" if state == "ok" else "bold red")
        head.append("   ")
    seen = f"{datetime.fromtimestamp(watch.seen_at).astimezone():%H:%M:%S}" if watch.seen_at else "the start"
    if watch.error:
        head.append(f"{watch.error} since {seen}", style="bold red")
    else:
        head.append(seen, style="dim")
    return head


def _queues(seen: list[tuple[str, WatchedQueue]], width: int) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim")
    cells = [_cells(name, each) for name, each in seen]
    shown = [name for name in COLUMNS if width >= WIDE or name not in LEFT_OUT]
    for name in shown:
        table.add_column(name, justify="left" if name in {"queue", "status", "line"} else "right", no_wrap=True)
    for row in cells:
        table.add_row(*(row[name] for name in shown))
    return table


def _cells(name: str, seen: WatchedQueue) -> dict[str, str]:
    queue, stats = seen.queue, seen.stats
    hand = queue["admission"] == "manual"
    return {
        "queue": f"[bold]{show.safe(name)}[/]",
        "status": f"[{MARKS.get(queue['status'], 'default')}]{show.safe(queue['status'])}[/]",
        "waiting": f"[bold]{stats['waiting']:,}[/]",
        "inside": f"{stats['admitted'] + stats['active']:,}",
        "of": f"{queue['max_active']:,}",
        "joined/min": f"{stats['joins_per_minute']:,}",
        "in/min": f"{stats['admissions_per_minute']:,}",
        "rate/min": "by hand" if hand else f"{queue['admission_rate'] * 60:,.6g}",
        "p50": units.words(stats["wait_p50_seconds"]),
        "p90": units.words(stats["wait_p90_seconds"]),
        "done": f"{stats['completed']:,}",
        "gone": f"{stats['expired']:,}",
        "line": f"[cyan]{sparkline(seen.line, SPARKS)}[/]",
    }


def _events(events: list[EventRun]) -> Table:
    table = Table(box=None, show_header=False, padding=(0, 2, 0, 0))
    for run in events:
        event = run.last
        at = datetime.fromisoformat(event["at"]).astimezone()
        table.add_row(
            f"[dim]{at:%H:%M:%S}[/]",
            show.safe(run.queue),
            show.safe(event["type"].replace("_", " ")),
            _tickets(run),
            f"[dim]{show.safe((event['detail'] or '').replace('_', ' '))}[/]",
        )
    return table


def _tickets(run: EventRun) -> str:
    first, last = run.first["ticket"], run.last["ticket"]
    if last is None:
        return ""
    if run.count == 1:
        return f"ticket {last:,}"
    return f"tickets {first:,} … {last:,} [dim]({run.count:,})[/]"
