"""How connections come to workers: each has its share of a rush, and none is left to a worker that is gone."""

from __future__ import annotations

import os
import re
import signal
import socket
import time
from collections import Counter
from collections.abc import Iterator

import pytest

from fairline.process.supervisor import TOO_SOON_SECONDS
from tests.backends import wait_until
from tests.web.running import RunningServer

RUSH = 200
#: Seconds.
PATIENCE = 15.0


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    running = RunningServer(tmp_path_factory.mktemp("workers"), workers=2)
    yield running
    running.stop()


def takers(server: RunningServer) -> Counter[int]:
    """Many connect at once; answers how many of them each process took."""
    rush = [socket.socket() for _ in range(RUSH)]
    try:
        for each in rush:
            each.setblocking(False)
            each.connect_ex((server.host, server.port))
        return Counter(taker_of(each) for each in rush)
    finally:
        for each in rush:
            each.close()


def taker_of(connection: socket.socket) -> int:
    """The process that answers on a connection: the ids that it gives to requests begin with its own."""
    connection.settimeout(PATIENCE)
    connection.sendall(b"GET /healthz HTTP/1.1\r\nhost: fairline\r\nconnection: close\r\n\r\n")
    answer = b""
    while piece := connection.recv(4096):
        answer += piece
    found = re.search(rb"x-request-id: ([0-9a-f]+)-", answer)
    assert found, answer
    return int(found[1], 16)


def test_a_rush_is_shared_out_among_the_workers(server: RunningServer) -> None:
    taken = takers(server)
    assert taken.keys() == set(server.worker_pids())
    assert min(taken.values()) > RUSH / 4


def test_nobody_is_left_to_a_worker_that_was_killed(server: RunningServer) -> None:
    killed, left = server.worker_pids()
    old = time.monotonic() + TOO_SOON_SECONDS
    wait_until(lambda: time.monotonic() > old, "time stands still")
    os.kill(killed, signal.SIGKILL)
    wait_until(lambda: killed not in server.worker_pids(), "the worker is still there")
    taken = takers(server)
    assert taken.keys() == set(server.worker_pids()) > {left}
    assert min(taken.values()) > RUSH / 4


def test_a_worker_that_ends_as_soon_as_it_starts_keeps_nobody_waiting(server: RunningServer) -> None:
    left = server.worker_pids()[0]

    def has_ended_at_once() -> bool:
        for pid in server.worker_pids():
            if pid != left:
                os.kill(pid, signal.SIGKILL)
        return any(died["lived_seconds"] < TOO_SOON_SECONDS for died in server.logs("worker.died"))

    wait_until(has_ended_at_once, "each of its workers lived for long")
    assert takers(server) == {left: RUSH}
    wait_until(lambda: len(server.worker_pids()) == 2, "the worker was not started again")
    assert takers(server).keys() == set(server.worker_pids())
