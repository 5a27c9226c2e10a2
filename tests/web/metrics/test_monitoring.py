"""What watches a server: the text of /metrics is well formed, equals what happened, and is what the dashboard and the
alert rules in `deploy/` ask for."""

from __future__ import annotations

import asyncio
import json
import shutil
import subprocess
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import promql_parser
import pytest
import yaml

from fairline.domain.queue import QueueId, QueueSnapshot
from fairline.domain.queue_settings import QueueSettings
from fairline.store import Stats, Totals
from fairline.web.metrics.page import queue_metrics
from tests.backends import wait_until
from tests.web.crowd import events, join, make_queue, operator
from tests.web.metrics.exposition import Exposition
from tests.web.running import RunningServer

DEPLOY = Path(__file__).parents[3] / "deploy"
EXPIRED = "waiting_room_positions_expired"
#: One whose last bucket has fewer than the one before.
HISTOGRAM = """\
# HELP fairline_x It.
# TYPE fairline_x histogram
fairline_x_bucket{le="1.0"} 3
fairline_x_bucket{le="+Inf"} 2
fairline_x_sum 1
fairline_x_count 2
"""
#: What Prometheus itself adds to what it scrapes.
SCRAPED = {"job", "instance"}


@pytest.fixture(scope="module")
def watched(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    """Two workers on which something of everything has happened, before and after they were started again."""
    server = RunningServer(tmp_path_factory.mktemp("monitoring"), environ={"FAIRLINE_SWEEP_SECONDS": "0.5"})

    async def evening() -> None:
        async with operator(server) as staff:
            await make_queue(staff, "sale", one_per="none", admission="manual", grace_seconds=0, stock=1000)
            await make_queue(staff, "rush", one_per="none", admission_rate=1000, max_active=30, claim_seconds=1)
            await act(staff, 40)
        await asyncio.to_thread(server.restart)
        async with operator(server) as staff:
            await act(staff, 30)

    async def act(staff: httpx.AsyncClient, count: int) -> None:
        people = await join(staff, "sale", count)
        await join(staff, "rush", count)
        heads = [{"authorization": f"Bearer {person['token']}"} for person in people]
        async with httpx.AsyncClient(base_url=server.base_url, limits=httpx.Limits(max_keepalive_connections=0)) as web:
            await asyncio.gather(*(web.post("/api/v1/heartbeat", headers=head) for head in heads))
            going = {"final": True}
            await asyncio.gather(*(web.post("/api/v1/leave", headers=head, json=going) for head in heads[-5:]))
        base = "/api/v1/admin/queues/sale"
        called = (await staff.post(f"{base}/call-next", json={"count": 12})).json()["tickets"]
        for ticket, action in zip(called, ["start", "start", "return", "no-show", "start", "terminate"], strict=False):
            await staff.post(f"{base}/tickets/{ticket['ticket']}/{action}")
        await staff.post(f"{base}/tickets/{called[0]['ticket']}/complete")
        await staff.post(f"{base}/revoke", json={"ticket": called[8]["ticket"], "reason": "abuse"})

    try:
        asyncio.run(evening())
        yield server
    finally:
        server.stop()


def read(server: RunningServer) -> Exposition:
    answer = httpx.get(f"{server.base_url}/metrics", timeout=20)
    assert answer.status_code == 200
    return Exposition(answer.text)


def test_the_text_is_well_formed(watched: RunningServer) -> None:
    assert read(watched).problems == []


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("# HELP fairline_joined Given.\n# TYPE fairline_joined counter\nfairline_joined 1\n", "_total"),
        ("# HELP fairline_x_ms It.\n# TYPE fairline_x_ms gauge\nfairline_x_ms 1\n", "base units"),
        ("# HELP fairline_x It.\n# TYPE fairline_x gauge\nfairline_x 1\nfairline_x 2\n", "told twice"),
        ('# HELP fairline_x It.\n# TYPE fairline_x gauge\nfairline_x{agent="curl"} 1\n', "bounded"),
        ("# HELP fairline_x It.\n# TYPE fairline_x gauge\nfairline_y 1\n", "does not belong"),
        ("# HELP fairline_x It.\n# TYPE fairline_x gauge\nfairline_x NaN\n", "nan"),
        (HISTOGRAM, "in all"),
    ],
)
def test_what_is_not_well_formed_would_be_found(text: str, problem: str) -> None:
    assert problem in str(Exposition(text).problems)


def test_promtool_has_nothing_to_say(watched: RunningServer) -> None:
    promtool = shutil.which("promtool")
    if not promtool:
        pytest.skip("no promtool on PATH")
    text = httpx.get(f"{watched.base_url}/metrics", timeout=20).text
    for words, given in ((["check", "metrics"], text), (["check", "rules", str(DEPLOY / "prometheus/alerts.yml")], "")):
        done = subprocess.run([promtool, *words], input=given, capture_output=True, text=True, timeout=30, check=False)
        assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("queue", ["sale", "rush"])
async def test_the_metrics_equal_the_events_after_two_workers_and_a_restart(watched: RunningServer, queue: str) -> None:
    async with operator(watched) as staff:
        if queue == "rush":  # until everyone was let in, and did not come
            await asyncio.to_thread(
                wait_until, lambda: _of(watched, queue)["waiting_room_positions_expired"] == 70, "late"
            )
        happened = Counter((event["type"], event["detail"]) for event in await events(staff, queue))
    counts: Counter[str] = Counter()
    reasons: Counter[str] = Counter()
    for (kind, detail), count in happened.items():
        counts[kind] += count
        if kind == "expired":
            reasons[detail] += count
    told = _of(watched, queue)
    assert told["fairline_joined"] == counts["joined"] == 70
    assert told["fairline_admitted"] == counts["admitted"] + counts["called"]
    assert told["fairline_wait_seconds_count"] == counts["admitted"] + counts["called"]
    assert told["fairline_completed"] == counts["completed"]
    assert told["fairline_returned"] == counts["returned"]
    assert told[EXPIRED] == counts["expired"]
    assert {name: told[f"expired:{name}"] for name in reasons} == reasons
    inside = told["fairline_admitted"] - counts["returned"] - counts["completed"]
    ended_inside = sum(count for name, count in reasons.items() if name not in {"left", "heartbeat_timeout"})
    assert told["fairline_inside"] == inside - ended_inside
    if queue == "sale":
        assert set(reasons) == {"left", "no_show", "terminated", "revoked"}
        assert told["fairline_stock_left"] == 1000 - counts["completed"] - told["fairline_inside"]


def _of(server: RunningServer, queue: str) -> Counter[str]:
    """The metrics of a queue, summed over their other labels; what expired also by reason."""
    found: Counter[str] = Counter()
    for family in read(server).families.values():
        for (name, labels), value in family.samples.items():
            said = dict(labels)
            if said.get("queue_id") != queue or name.endswith("_bucket"):
                continue
            found[name.removesuffix("_total")] += int(value)
            if "reason" in said:
                found[f"expired:{said['reason']}"] += int(value)
    return found


def test_waits_fall_into_the_buckets_they_belong_to() -> None:
    snapshot = QueueSnapshot(1, 0, 1, 0, 0, 0, 0, 0.0, 0.0, 0.0)
    # Buckets an eighth of a doubling wide: 7 ends at 1 s, 8 begins there, 23 ends at 7 s, 200 is beyond all bounds.
    totals = Totals(admitted=10, waits={7: 1, 8: 2, 23: 3, 200: 4}, wait_mean=5.0)
    stats = Stats(snapshot=snapshot, totals=totals, joins_per_minute=0, admissions_per_minute=0, last_admission=None)
    metrics = {metric.name: metric for metric in queue_metrics([(QueueId("a"), QueueSettings(), stats)])}
    samples = metrics["fairline_wait_seconds"].samples
    counts = {sample.labels["le"]: sample.value for sample in samples if sample.name.endswith("_bucket")}
    assert (counts["1.0"], counts["3.0"], counts["7.0"], counts["16383.0"], counts["+Inf"]) == (1, 3, 6, 6, 10)
    assert [sample.value for sample in samples if sample.name.endswith("_sum")] == [50]


# What is deployed


def _rules() -> list[tuple[str, str]]:
    groups = yaml.safe_load((DEPLOY / "prometheus" / "alerts.yml").read_text(encoding="utf-8"))["groups"]
    return [(rule["alert"], rule["expr"]) for group in groups for rule in group["rules"]]


def _panels() -> list[dict[str, Any]]:
    panels: list[dict[str, Any]] = _dashboard()["panels"]
    return panels


def _dashboard() -> dict[str, Any]:
    board: dict[str, Any] = json.loads((DEPLOY / "grafana" / "fairline.json").read_text(encoding="utf-8"))
    return board


def _queries() -> list[tuple[str, str]]:
    """Every query of the dashboard, with what Grafana puts in for its variables."""
    return [
        (panel["title"], target["expr"].replace("$__rate_interval", "1m").replace("$queue", "sale|rush"))
        for panel in _panels()
        for target in panel.get("targets", ())
    ]


@pytest.mark.parametrize("asked", [_rules, _queries], ids=["alerts", "dashboard"])
def test_every_query_asks_for_what_is_told(watched: RunningServer, asked: Callable[[], list[tuple[str, str]]]) -> None:
    told = read(watched).metrics()
    known = set().union(*told.values()) | SCRAPED
    for name, query in asked():

        def visit(part: Any, name: str = name) -> None:
            if isinstance(part, promql_parser.VectorSelector) and part.name != "up":
                assert part.name in told, f"{name}: there is no {part.name}"
                for matcher in part.matchers.matchers:
                    assert matcher.name in told[part.name] | SCRAPED, f"{name}: {part.name} has no {matcher.name}"
            if isinstance(part, promql_parser.AggregateExpr) and part.modifier is not None:
                assert set(part.modifier.labels) <= known, f"{name}: by {part.modifier.labels}"

        promql_parser.walk(promql_parser.parse(query), visit)


def test_every_metric_is_on_the_dashboard_or_in_an_alert(watched: RunningServer) -> None:
    asked = " ".join(query for _, query in _rules() + _queries())
    elsewhere = {"fairline_promotions_total", "fairline_returned_total", "waiting_room_active_heartbeats"}
    for name in read(watched).families:
        assert name in asked or name in elsewhere, f"{name} is exported, and nothing reads it"


def test_every_metric_and_label_is_in_the_reference(watched: RunningServer) -> None:
    page = (DEPLOY.parent / "docs" / "reference" / "metrics.md").read_text(encoding="utf-8")
    rows = {row.split("`")[1]: row for row in page.splitlines() if row.startswith("| `")}
    families = read(watched).families
    assert rows.keys() == families.keys()
    for name, family in families.items():
        assert f"| {family.kind} |" in rows[name]
        assert {label for label in family.labels() if f"`{label}`" not in rows[name]} == set(), name


def test_every_alert_is_on_its_page() -> None:
    page = (DEPLOY.parent / "docs" / "how-to" / "monitor.md").read_text(encoding="utf-8")
    assert [name for name, _ in _rules() if f"`{name}`" not in page] == []


def test_alerts_say_how_bad_it_is_and_what_to_do() -> None:
    groups = yaml.safe_load((DEPLOY / "prometheus" / "alerts.yml").read_text(encoding="utf-8"))["groups"]
    rules = [rule for group in groups for rule in group["rules"]]
    assert len({rule["alert"] for rule in rules}) == len(rules)
    for rule in rules:
        assert rule.keys() == {"alert", "expr", "for", "labels", "annotations"}
        assert rule["labels"]["severity"] in {"critical", "warning", "info"}
        assert rule["annotations"].keys() == {"summary", "description"}
        promql_parser.parse_duration(rule["for"])


def test_the_dashboard_is_laid_out_without_gaps_or_overlaps() -> None:
    board = _dashboard()
    taken: set[tuple[int, int]] = set()
    assert len({panel["id"] for panel in board["panels"]}) == len(board["panels"])
    for panel in board["panels"]:
        at = panel["gridPos"]
        cells = {(x, y) for x in range(at["x"], at["x"] + at["w"]) for y in range(at["y"], at["y"] + at["h"])}
        assert not cells & taken
        taken |= cells
        assert panel["type"] == "row" or (panel["title"] and panel["description"])
    height = max(y for _, y in taken) + 1
    assert len(taken) == 24 * height
    assert {variable["name"] for variable in board["templating"]["list"]} == {"datasource", "queue"}
