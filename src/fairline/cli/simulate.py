"""`fairline simulate`: simulates an event on the real engine, in virtual time."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from fairline.cli import chart, picture, show, units
from fairline.cli.client import Api, part
from fairline.cli.options import Data, Json, Key, Server
from fairline.cli.pairs import pairs
from fairline.domain.opening import DrawKind
from fairline.domain.queue_settings import SETTINGS
from fairline.domain.settings_checks import checked
from fairline.errors import InvalidSettings
from fairline.simulation.people import Scenario, Shape, Stays, scenario, within

if TYPE_CHECKING:  # the engine loads slowly, and no other command needs it
    from fairline.simulation.evening import Outcome, Simulation
    from fairline.simulation.opening import OpeningOutcome

T = TypeVar("T")

#: The capacity if only the rate is to limit admission.
NO_LIMIT = 10_000_000


def simulate_command(
    settings: Annotated[
        list[str] | None,
        typer.Argument(help="Other settings of the queue, such as claim_seconds=60.", metavar="[NAME=VALUE]…"),
    ] = None,
    people: Annotated[int, typer.Option(help="How many people come.", min=1, max=1_000_000)] = 20_000,
    over: Annotated[
        float, typer.Option(parser=units.seconds, help="The time within which they come.", metavar="TIME")
    ] = "10m",  # type: ignore[assignment]
    rate: Annotated[
        float | None,
        typer.Option(parser=units.rate, help="How fast people are let in. (default: 10/s)", metavar="RATE"),
    ] = None,
    stay: Annotated[float, typer.Option(parser=units.seconds, help="Average stay inside.", metavar="TIME")] = "6m",  # type: ignore[assignment]
    capacity: Annotated[int | None, typer.Option(help="Capacity inside. (default: unlimited)", min=1)] = None,
    no_shows: Annotated[
        float, typer.Option(parser=units.share, help="Share of admitted people who never come.", metavar="SHARE")
    ] = "0%",  # type: ignore[assignment]
    give_up: Annotated[
        float,
        typer.Option(parser=units.share, help="Share of people who give up if the wait is too long.", metavar="SHARE"),
    ] = "0%",  # type: ignore[assignment]
    patience: Annotated[
        float, typer.Option(parser=units.seconds, help="How long people who give up wait, on average.", metavar="TIME")
    ] = "5m",  # type: ignore[assignment]
    opening: Annotated[
        bool,
        typer.Option("--opening", help="Begin with a pre-queue: people come, and nobody is let in before the start."),
    ] = False,
    prequeue: Annotated[
        float,
        typer.Option(parser=units.seconds, help="With --opening: how long before the start it opens.", metavar="TIME"),
    ] = "5m",  # type: ignore[assignment]
    draw: Annotated[
        DrawKind, typer.Option(help="With --opening: whether the order of the pre-queue is drawn.")
    ] = DrawKind.RANDOM,
    shape: Annotated[
        Shape, typer.Option(help="How arrivals are spread; a rush starts at three times the average.")
    ] = Shape.RUSH,
    stays: Annotated[Stays, typer.Option(help="How the lengths of stays vary.")] = Stays.LOGNORMAL,
    longest: Annotated[
        float,
        typer.Option(parser=units.seconds, help="End after this time, even if people still wait.", metavar="TIME"),
    ] = "24h",  # type: ignore[assignment]
    seed: Annotated[
        int, typer.Option(help="The random seed: another seed gives another event of the same kind.", min=0)
    ] = 1,
    like: Annotated[
        str | None, typer.Option(help="Start from the settings of this queue of a running server.", metavar="QUEUE")
    ] = None,
    png: Annotated[Path | None, typer.Option(help="Also draw a picture into this file.", dir_okay=False)] = None,
    json: Json = False,
    server: Server = None,
    key: Key = None,
    data: Data = None,
) -> None:
    """Simulate an event on the real engine, in virtual time.

    Durations are written as 90s, 10m or 1.5h, rates as 40/s or 300/min.
    """
    if png:
        picture.check(png)
    base = _settings_of(like, Api(server, key, data)) if like else {"max_active": NO_LIMIT, "max_queue_size": NO_LIMIT}
    given = {"admission_rate": rate, "max_active": capacity}
    base |= {name: value for name, value in given.items() if value is not None} | pairs(settings or [])
    wanted = scenario(
        _checked_for_simulation(base),
        people=people,
        over_seconds=over,
        shape=shape,
        stay_seconds=stay,
        stays=stays,
        no_shows=no_shows,
        give_up=give_up,
        patience_seconds=patience,
        opening=opening,
        prequeue_seconds=prequeue,
        draw=draw is DrawKind.RANDOM,
        seed=seed,
        at_most_seconds=longest,
    )
    outcome = _run(wanted)
    if json:
        show.as_json(_content(wanted, outcome))
    else:
        _print(wanted, outcome)
    if png:
        half, most = (units.words(outcome.wait_within(share)) for share in (0.5, 0.9))
        waits = f"Median wait {half}, 90th percentile {most}."
        picture.draw(outcome, _span(outcome), _title(wanted), waits, png)
        show.stderr_console.print(f"The picture is in [bold]{show.safe(png)}[/].")


def _settings_of(queue: str, api: Api) -> dict[str, Any]:
    """The settings of a queue, but active and with its current stock."""
    found = api.get(f"/queues/{part(queue)}")
    return {name: found[name] for name in SETTINGS if name in found} | {"status": "active", "stock_url": None}


def _checked_for_simulation(settings: dict[str, Any]) -> dict[str, Any]:
    if checked(settings).by_hand:
        raise InvalidSettings(
            "admission", "is manual: people are called by hand, which cannot be simulated. Add admission=auto."
        )
    return settings


def _run(wanted: Scenario) -> Outcome:
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

    from fairline.simulation.evening import simulate

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TaskProgressColumn(),
        TextColumn("{task.fields[clock]} simulated, {task.fields[waiting]:,} in line"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=show.stderr_console, transient=True) as progress:
        task = progress.add_task("Simulating", total=wanted.people, clock="0:00", waiting=0)

        def show_progress(running: Simulation) -> None:
            now = running.series[-1]
            progress.update(
                task, completed=wanted.people - running.left, clock=chart.clock(now.second), waiting=now.waiting
            )

        with _without_logs():
            return _on_fast_loop(lambda: simulate(wanted, show_progress))


@contextmanager
def _without_logs() -> Iterator[None]:
    """Log only what is wrong: the steps of an opening would be printed among the results."""
    import logging

    import structlog

    before = structlog.get_config()
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.WARNING))
    try:
        yield
    finally:
        structlog.configure(**before)


def _on_fast_loop(work: Callable[[], Coroutine[Any, Any, T]]) -> T:
    import asyncio

    try:
        import uvloop

        runner = asyncio.Runner(loop_factory=uvloop.new_event_loop)
    except ImportError:
        runner = asyncio.Runner()
    with runner:
        return runner.run(work())


def _title(wanted: Scenario) -> str:
    settings = wanted.settings
    capacity = f", capacity {settings.max_active:,}" if settings.max_active < NO_LIMIT else ""
    return (
        f"{wanted.people:,} people in {units.words(wanted.over_seconds)}, {settings.admission_rate:g} a second"
        f"{capacity}, stay {units.words(wanted.stay_seconds)}"
    )


def _span(outcome: Outcome) -> int:
    """The seconds worth drawing: until the line is empty and nearly everyone has left."""
    few = outcome.fullest.inside / 20
    last = next((point.second for point in reversed(outcome.series) if point.waiting or point.inside > few), 0)
    return max(60, last + 1)


def _print(wanted: Scenario, outcome: Outcome) -> None:
    console = show.console
    span = _span(outcome)
    width = min(console.width, 120)
    console.print(f"[bold]{_title(wanted)}[/]")
    opening = f", pre-queue {units.words(wanted.prequeue_seconds)}" if wanted.opening else ""
    console.print(f"[dim]seed {wanted.seed}, arrivals {wanted.shape}, stays {wanted.stays}{opening}[/]\n")
    drawn = outcome.series[:span]
    for title, values in (
        ("In line", [point.waiting for point in drawn]),
        ("Inside", [point.inside for point in drawn]),
    ):
        for line in chart.area(title, values, width):
            console.print(line, markup=False, soft_wrap=True)
        console.print()
    peak, fullest, endings = outcome.peak, outcome.fullest, outcome.endings
    facts = _opening_facts(outcome.opening) if outcome.opening else {}
    facts |= {
        "median wait": units.words(outcome.wait_within(0.5)),
        "90th percentile": units.words(outcome.wait_within(0.9)),
        "99th percentile": units.words(outcome.wait_within(0.99)),
        "longest wait": units.words(outcome.wait_within(1)),
        "longest line": f"{peak.waiting:,} at {chart.clock(peak.second)}",
        "most inside": f"{fullest.inside:,} at {chart.clock(fullest.second)}",
        "line empty": _emptied(outcome),
        "got in": f"{len(outcome.waits):,} of {wanted.people:,}",
        "ended": ", ".join(f"{count:,} {_ending(name)}" for name, count in endings.most_common()),
        "estimate accuracy": _accuracy(outcome),
    }
    show.facts("Result", facts)


def _opening_facts(opening: OpeningOutcome) -> dict[str, str]:
    facts = {"pre-queue": f"{opening.came_before:,} came before the start at {chart.clock(opening.start)}"}
    if opening.drawn:
        gone = opening.came_before - opening.drawn
        facts["draw"] = f"{opening.drawn:,} drawn" + (f"; {gone:,} had gone" if gone else "")
    facts["wait from the start on"] = _waits(opening.waits)
    facts["wait of later ones"] = _waits(opening.later_waits) if opening.later_waits else "nobody came later"
    return facts


def _waits(waits: list[int]) -> str:
    return f"median {units.words(within(waits, 0.5))}, longest {units.words(within(waits, 1))}"


def _emptied(outcome: Outcome) -> str:
    if not outcome.peak.waiting:
        return "always: everyone was let in at once"
    if outcome.empty_at is None:
        return f"not by the end at {chart.clock(outcome.series[-1].second + 1)}"
    return f"from {chart.clock(outcome.empty_at)} on"


def _ending(name: str) -> str:
    return name.replace("_", " ") or "still there"


def _accuracy(outcome: Outcome) -> str:
    estimates = outcome.estimates
    if estimates.share_within is None:
        return "no estimates were shown"
    return (
        f"{estimates.share_within:.0%} of {estimates.compared:,} ranges shown at joining; "
        f"off by {units.words(estimates.mean_error_seconds)} on average"
    )


def _content(wanted: Scenario, outcome: Outcome) -> dict[str, Any]:
    estimates, peak, fullest = outcome.estimates, outcome.peak, outcome.fullest
    return {
        "people": wanted.people,
        "over_seconds": wanted.over_seconds,
        "admission_rate": wanted.settings.admission_rate,
        "max_active": wanted.settings.max_active,
        "stay_seconds": wanted.stay_seconds,
        "seed": wanted.seed,
        "admitted": len(outcome.waits),
        "endings": {name or "still_there": count for name, count in sorted(outcome.endings.items())},
        "wait_p50_seconds": outcome.wait_within(0.5),
        "wait_p90_seconds": outcome.wait_within(0.9),
        "wait_p99_seconds": outcome.wait_within(0.99),
        "wait_longest_seconds": outcome.wait_within(1),
        "peak_waiting": {"count": peak.waiting, "at_second": peak.second},
        "peak_inside": {"count": fullest.inside, "at_second": fullest.second},
        "empty_at_second": outcome.empty_at,
        "estimates": {
            "compared": estimates.compared,
            "within_range": estimates.within,
            "share_within": estimates.share_within,
            "mean_error_seconds": estimates.mean_error_seconds,
        },
        "opening": _opening_content(outcome.opening),
        "minutes": [
            {
                "minute": point.second // 60,
                "waiting": point.waiting,
                "inside": point.inside,
                "joined": point.joined,
                "admitted": point.admitted,
            }
            for point in outcome.by_minute()
        ],
    }


def _opening_content(opening: OpeningOutcome | None) -> dict[str, Any] | None:
    if opening is None:
        return None
    return {
        "start_second": opening.start,
        "came_before": opening.came_before,
        "drawn": opening.drawn,
        "wait_from_start_p50_seconds": within(opening.waits, 0.5),
        "wait_from_start_longest_seconds": within(opening.waits, 1),
        "later": len(opening.later_waits),
        "later_wait_p50_seconds": within(opening.later_waits, 0.5),
        "later_wait_longest_seconds": within(opening.later_waits, 1),
    }
