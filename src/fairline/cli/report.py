"""`fairline report`: the report of an event as a table, CSV or a page to print."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import Annotated

import typer

from fairline.cli import show
from fairline.cli.client import Api, part
from fairline.cli.options import Data, Json, Key, Queue, Server
from fairline.errors import Invalid


def report(
    queue: Queue,
    day: Annotated[
        str | None,
        typer.Option("--day", help="One of the last nine days in the queue's time zone: today, yesterday, or a date."),
    ] = None,
    since: Annotated[str | None, typer.Option("--from", help="From this time, such as 2027-01-15T18:00:00Z.")] = None,
    until: Annotated[str | None, typer.Option("--to", help="Until this time.")] = None,
    csv: Annotated[bool, typer.Option("--csv", help="Print CSV with one line per hour.")] = False,
    by: Annotated[
        str | None, typer.Option("--by", help="With --csv: 'hour', or 'desk' for one line per desk and hour.")
    ] = None,
    html: Annotated[Path | None, typer.Option("--html", help="Write a page to print.", metavar="FILE")] = None,
    json: Json = False,
    server: Server = None,
    key: Key = None,
    data: Data = None,
) -> None:
    """Report the event as a whole and by hour: fairline report sale --html report.html"""
    if csv + json + (html is not None) > 1:
        raise Invalid("report", "takes only one of --csv, --html and --json")
    api, path = Api(server, key, data), f"/queues/{part(queue)}/report"
    if by and not csv:
        raise Invalid("by", "needs --csv")
    asked = {"day": day, "from": since, "to": until}
    if csv:
        show.as_text(api.text(path, format="csv", by=by, **asked))
    elif html is not None:
        _write(html, api.text(path, format="html", **asked))
        show.console.print(f"The report is in [bold]{show.safe(html)}[/].")
    elif json:
        show.as_json(api.get(path, **asked))
    else:
        _table(api.get(path, **asked))


def _write(file: Path, page: str) -> None:
    try:
        file.write_text(page, encoding="utf-8")
    except OSError as error:
        raise Invalid("html", f"must be a file that can be written; {file}: {error.strerror}") from None


def _table(found: dict[str, object]) -> None:
    hours, totals = found["hours"], found["totals"]
    assert isinstance(hours, list)
    assert isinstance(totals, dict)
    let_in, done = ("called", "served") if found["admission"] == "manual" else ("let in", "completed")
    columns = ("hour", "joined", let_in, done, "left", "longest line", "waited", "p50", "p90", "estimate accuracy")
    short = ("hour", "joined", let_in, "done", "left", "line", "waited", "p50", "p90", "accuracy")
    lines = [
        *([f"{datetime.fromisoformat(hour['start']):%d %b %H:%M}", *_counts(hour)] for hour in hours),
        ["Total" if found["from"] or found["to"] else "Entire event", *_counts(totals)],
    ]
    title = f"Report of {found['name']}" + (f", {found['day']}" if found["day"] else "")
    show.rows(title, columns, lines, "", short=short)
    _desks(found["desks"])


def _desks(desks: object) -> None:
    """Print what each desk did, if there are desks."""
    assert isinstance(desks, list)
    if not desks:
        return
    columns = ("desk", "called", "served", "no-shows", "people waited", "came after", "served in")
    short = ("desk", "called", "served", "no-shows", "waited", "came", "took")
    counts = ("called", "served", "no_shows")
    times = ("average_wait_seconds", "average_claim_seconds", "average_service_seconds")
    lines = [[desk["name"], *(desk[name] for name in counts), *(_span(desk[name]) for name in times)] for desk in desks]
    show.rows("Desks", columns, lines, "", short=short)


def _counts(counts: dict[str, object]) -> list[object]:
    names = ("joined", "admitted", "completed", "expired", "peak_waiting")
    waits = ("average_wait_seconds", "wait_p50_seconds", "wait_p90_seconds")
    estimates = counts["estimates"]
    assert isinstance(estimates, dict)
    share = estimates["share_within"]
    return [
        *(counts[name] for name in names),
        *(_span(counts[name]) for name in waits),
        None if share is None else f"{share:.0%}",
    ]


def _span(found: object) -> str | None:
    """A duration in short: 45 s, 12 min, 1 h 05."""
    if not isinstance(found, int | float):
        return None
    seconds, minutes = round(found), round(found / 60)
    if seconds < 90:
        return f"{seconds} s"
    return f"{minutes} min" if minutes < 90 else f"{minutes // 60} h {minutes % 60:02}"
