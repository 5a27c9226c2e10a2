"""The data of the embedded server: whatever is killed or cut short, what was acknowledged is there."""

from __future__ import annotations

import contextlib
import os
import shlex
import signal
import subprocess
import threading
from pathlib import Path

import pytest
import redis

from fairline.domain.queue import queue_id
from fairline.domain.settings_checks import checked
from fairline.errors import StoreUnavailable
from fairline.store import open_store
from fairline.store.valkey import embedded
from tests.store.embedded.servers import Make, client, leftovers, newest_part
from tests.web.inside import until


@pytest.mark.usefixtures("each_server")
def test_data_survives_a_restart(make: Make) -> None:
    server = make()
    for round_ in range(3):
        with client(server.start()) as store:
            assert store.zcard("line") == round_
            store.zadd("line", {f"ticket-{round_}": round_})
        server.stop()
        assert server.pid is None
        assert leftovers(server.folder) == []
        assert (server.folder / "valkey.log").read_text().count("ready to exit, bye bye") == round_ + 1


@pytest.mark.usefixtures("each_server")
def test_killed_server_loses_no_acknowledged_write(make: Make) -> None:
    server = make()
    with client(server.start()) as store:
        assert server.pid is not None
        acknowledged = int(store.incr("joined"))
        killer = threading.Timer(0.2, os.kill, (server.pid, signal.SIGKILL))
        killer.start()
        with contextlib.suppress(redis.ConnectionError):
            while True:
                acknowledged = int(store.incr("joined"))
    killer.join()
    with client(server.start()) as store:
        assert int(store.get("joined") or 0) in (acknowledged, acknowledged + 1)  # the last one may have been under way


@pytest.mark.usefixtures("each_server")
@pytest.mark.parametrize("damage", ["cut short", "half a write more"])
def test_half_written_tail_still_loads(make: Make, damage: str) -> None:
    server = make()
    with client(server.start()) as store:
        for number in range(100):
            store.hset("tickets", str(number), "x" * 50)
    server.stop()
    part = newest_part(server.folder)
    if damage == "cut short":
        os.truncate(part, part.stat().st_size - 7)
    else:
        with part.open("ab") as file:
            file.write(b"*4\r\n$4\r\nHSET\r\n$7\r\ntick")
    with client(server.start()) as store:
        assert store.hlen("tickets") == (99 if damage == "cut short" else 100)
        store.hset("tickets", "new", "x")
    server.stop()
    with client(server.start()) as store:
        assert store.hexists("tickets", "new")


@pytest.mark.usefixtures("each_server")
def test_half_written_operation_is_dropped_whole(make: Make) -> None:
    server = make()
    join = "redis.call('ZADD', KEYS[1], 1, ARGV[1]); redis.call('HSET', KEYS[2], ARGV[1], 'record')"
    with client(server.start()) as store:
        for ticket in ("first", "second"):
            store.eval(join, 2, "line", "tickets", ticket)
    server.stop()
    part = newest_part(server.folder)
    os.truncate(part, part.stat().st_size - 7)
    with client(server.start()) as store:
        assert store.zrange("line", 0, -1) == store.hkeys("tickets") == ["first"]


def test_damage_in_the_middle_is_explained_and_the_advice_works(make: Make, tmp_path: Path) -> None:
    server = make(tmp_path / "my data")
    with client(server.start()) as store:
        for number in range(100):
            store.hset("tickets", str(number), "x" * 50)
    server.stop()
    part = newest_part(server.folder)
    content = bytearray(part.read_bytes())
    content[len(content) // 2 : len(content) // 2 + 200] = b"\0" * 200
    part.write_bytes(content)

    with pytest.raises(StoreUnavailable, match="Bad file format reading the append only file") as refused:
        server.start()
    assert server.pid is None
    assert leftovers(server.folder) == []

    repair = refused.value.message.partition("damage: ")[2].partition(" It last said")[0]
    assert shlex.quote(str(server.folder)) in repair
    subprocess.run(["sh", "-c", repair], input=b"y\n", check=True, capture_output=True)
    with client(server.start()) as store:
        assert 40 < store.hlen("tickets") < 60


async def test_a_server_that_cannot_write_to_its_disk_is_away_and_says_why(make: Make) -> None:
    server = make()
    with client(server.start()) as plain:
        (server.folder / "dump.rdb").mkdir()  # where no snapshot can be put, and the server takes no writes then
        plain.config_set("save", "3600 1")
        plain.bgsave()
        await until(lambda: plain.info("persistence")["rdb_last_bgsave_status"] == "err")
        store = await open_store(server.url)
        try:
            with pytest.raises(StoreUnavailable, match="cannot write to its disk"):
                await store.create(queue_id("sale"), checked({}))
        finally:
            await store.close()
            plain.config_set("save", "")  # or it would not end without a snapshot


def test_start_waits_until_the_data_is_loaded(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    server = make()
    with client(server.start()) as store:
        pipeline = store.pipeline(transaction=False)
        for number in range(4000):
            pipeline.set(f"key-{number}", number)
        pipeline.execute()
    server.stop()
    monkeypatch.setitem(embedded.OPTIONS, "key-load-delay", "200")  # microseconds a key
    server.start()
    assert (server.folder / "valkey.log").read_text().count("Ready to accept connections") == 2
