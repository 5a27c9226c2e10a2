"""What people are told of their wait over HTTP: a cause where it got longer, what can be said where there is no
estimate, and how true the estimates were."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from tests.backends import wait_until
from tests.web.running import RunningServer


@pytest.fixture
def operator(server: RunningServer) -> Iterator[httpx.Client]:
    key = {"authorization": f"Bearer {server.admin_key}"}
    with httpx.Client(base_url=f"{server.base_url}/api/v1/admin", headers=key) as client:
        yield client


class Line:
    """A queue and the people in it, in the order in which they joined."""

    def __init__(self, operator: httpx.Client, name: str, people: int, **settings: object) -> None:
        self.name, self._operator = name, operator
        answer = operator.post("/queues", json={"id": name, "join_limit_per_ip": 0, **settings})
        assert answer.status_code == 201, answer.text
        self._base = str(operator.base_url).removesuffix("admin/")
        join = f"{self._base}queues/{name}/join"
        self._tokens = [httpx.post(join, json={"client_id": f"c{n}"}).json()["token"] for n in range(people)]

    def status(self, person: int) -> dict[str, Any]:
        key = {"authorization": f"Bearer {self._tokens[person]}"}
        answer: dict[str, Any] = httpx.get(f"{self._base}status", headers=key).json()
        return answer

    def change(self, **settings: object) -> None:
        answer = self._operator.patch(f"/queues/{self.name}", json=settings)
        assert answer.status_code == 200, answer.text

    def let_in(self, person: int) -> None:
        wait_until(lambda: self.status(person)["status"] == "admitted", f"{person} is not let in")


def test_a_longer_wait_has_its_cause(operator: httpx.Client) -> None:
    line = Line(operator, "causes", 3, admission_rate=0.01, burst=1, max_active=100)
    line.let_in(0)
    assert "wait_changed" not in line.status(2)
    changes: list[tuple[dict[str, object], str]] = [
        ({"admission_rate": 0.005}, "rate_changed"),
        ({"max_active": 50}, "capacity_reduced"),
        ({"status": "paused"}, "paused"),
        ({"status": "active", "stock": 2}, "sold_out"),
    ]
    for change, cause in changes:
        line.change(**change)
        assert line.status(2)["wait_changed"] == {"cause": cause}, change
    assert line.status(1).get("wait_changed") != {"cause": "sold_out"}  # there is one left for them


def test_where_there_is_no_estimate_something_useful_is_said(operator: httpx.Client) -> None:
    line = Line(operator, "no-estimate", 3, admission_rate=0.5, burst=1, max_active=1)
    line.let_in(0)  # and nobody has come out yet, so it is not known how long people stay
    told = [line.status(person) for person in (1, 2)]
    assert [answer.get("estimated_wait_seconds") for answer in told] == [None, None]
    assert [answer["estimated_wait_at_least_seconds"] for answer in told] == [2, 4]
    assert [answer["people_per_minute"] for answer in told] == [30, 30]


def test_everyone_can_read_how_true_the_waits_were(server: RunningServer, operator: httpx.Client) -> None:
    address = f"{server.base_url}/api/v1/queues/told-true/accuracy"
    nobody = httpx.get(address)
    assert (nobody.status_code, nobody.json()["code"]) == (404, "queue_not_found")
    line = Line(operator, "told-true", 2, admission_rate=0.5, burst=1, max_active=100)
    line.let_in(1)
    stats = f"/queues/{line.name}/stats"  # not the answer itself: it is kept for some seconds
    wait_until(lambda: operator.get(stats).json()["estimates"]["compared"] > 0, "no wait was compared")
    answer = httpx.get(address).json()
    assert answer["queue"] == line.name
    assert answer["compared"] >= 1
    assert 0 <= answer["share_within"] <= 1
    assert answer["median_error_percent"] >= 0
    assert isinstance(answer["median_bias_percent"], float)
    assert sum(each["compared"] for each in answer["by_wait"]) == answer["compared"]
    assert answer["by_wait"][0]["from_seconds"] == 0
