"""The address of a server: it is its own, whatever becomes of its workers."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from contextlib import closing, contextmanager

import pytest

from fairline.errors import InvalidSettings
from fairline.process.sockets import Listening
from tests.backends import HOST


@contextmanager
def listening(workers: int, host: str = HOST, port: int = 0) -> Iterator[Listening]:
    with closing(Listening(host, port, workers)) as found:
        yield found


def connects(host: str, port: int) -> bool:
    try:
        socket.create_connection((host, port), timeout=30).close()
    except ConnectionRefusedError:
        return False
    return True


@pytest.mark.parametrize("theirs", [1, 2])
@pytest.mark.parametrize("ours", [1, 2])
def test_an_address_that_another_server_has_is_refused(theirs: int, ours: int) -> None:
    with listening(theirs) as other, pytest.raises(InvalidSettings, match="Choose another with --port"):
        Listening(HOST, other.port, ours)


def test_nobody_else_has_the_address_while_it_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    opened, tries = Listening._open, []

    def tried_before(self: Listening, address: tuple[str, int], *, shared: bool = False) -> socket.socket:
        if shared:
            with pytest.raises(OSError, match="in use"):
                socket.create_server(address)
            tries.append(address)
        return opened(self, address, shared=shared)

    monkeypatch.setattr(Listening, "_open", tried_before)
    with listening(3):
        assert len(tries) == 2


def test_connections_are_shared_out_to_all_workers() -> None:
    with listening(3) as found:
        come = [socket.create_connection((HOST, found.port)) for _ in range(120)]
        shares = []
        for place in range(3):
            with socket.socket(fileno=os.dup(found.of(place))) as own:
                own.setblocking(False)
                shares.append(taken(own))
        for each in come:
            each.close()
    assert sum(shares) == len(come)
    assert min(shares) >= 10


def taken(own: socket.socket) -> int:
    """How many connections wait at a socket."""
    count = 0
    while True:
        try:
            own.accept()[0].close()
        except BlockingIOError:
            return count
        count += 1


def test_a_worker_of_several_has_a_socket_of_its_own_and_the_next_one_has_it_too() -> None:
    with listening(2) as found:
        assert found.of(0) != found.of(1)
        assert found.of(0) == found.of(0)
    with listening(1) as found:
        assert found.of(0) == found.of(0)


@pytest.mark.parametrize("workers", [1, 2, 3])
def test_connections_go_to_those_that_are_left_and_the_last_one_stays(workers: int) -> None:
    with listening(workers) as found:
        for place in range(workers):
            found.give_up(place)
            with pytest.raises(InvalidSettings):
                Listening(HOST, found.port, 1)
            assert all(connects(HOST, found.port) for _ in range(20))
        for place in range(workers):
            found.of(place)
        assert all(connects(HOST, found.port) for _ in range(20))


def test_no_connection_is_left_at_a_place_that_was_given_up() -> None:
    with listening(2) as found, socket.socket(fileno=os.dup(found.of(1))) as left:
        found.give_up(0)
        for _ in range(20):
            with socket.create_connection((HOST, found.port), timeout=30):
                left.accept()[0].close()


@pytest.mark.parametrize("workers", [1, 2])
def test_one_of_ipv6_is_of_ipv6_alone(workers: int) -> None:
    with listening(workers, "::") as found:
        assert connects("::1", found.port)
        assert not connects(HOST, found.port)


def test_what_is_given_back_can_be_had_again() -> None:
    with listening(2) as found:
        port = found.port
    with listening(2, port=port) as again:
        assert connects(HOST, again.port)
