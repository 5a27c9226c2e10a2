"""What the parts share: a store in a temporary folder, people to fill it with, and statistics over what was timed."""

from __future__ import annotations

import asyncio
import os
import platform
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from functools import cache
from hashlib import blake2b
from pathlib import Path
from statistics import quantiles
from typing import Any

import redis
from msgspec import Struct
from rich.table import Table

from fairline.domain.join_request import Caller, JoinRequest
from fairline.domain.queue import QueueId, queue_id
from fairline.domain.settings_checks import checked
from fairline.domain.ticket import Person
from fairline.domain.tokens import Keyring
from fairline.service.fairline import Fairline
from fairline.store import MAX_BATCH, Arrival, Store, open_store

Call = Callable[[], Awaitable[object]]

#: Nobody is turned away or lapses while something is measured, and a closed page is due at once.
SETTINGS: dict[str, Any] = {
    "max_queue_size": 10_000_000,
    "max_active": 10_000_000,
    "admission_rate": 100_000.0,
    "heartbeat_timeout_seconds": 86_400.0,
    "grace_seconds": 0.0,
    "claim_seconds": 86_400.0,
    "session_seconds": 86_400.0,
    "session_max_seconds": 86_400.0,
    "retain_seconds": 86_400.0,
    "join_limit_per_ip": 0,
}

_WINDOWS, _MAC = "Windows NT 10.0; Win64; x64", "Macintosh; Intel Mac OS X 10_15_7"
_WEBKIT, _BLINK = "AppleWebKit/605.1.15 (KHTML, like Gecko)", "AppleWebKit/537.36 (KHTML, like Gecko)"
AGENTS = (
    *(
        f"Mozilla/5.0 (iPhone; CPU iPhone OS {major}_{minor} like Mac OS X) {_WEBKIT} Version/{major}.{minor} "
        "Mobile/15E148 Safari/604.1"
        for major, minor in ((18, 5), (18, 4), (18, 3), (17, 6), (16, 7))
    ),
    *(f"Mozilla/5.0 (Linux; Android 10; K) {_BLINK} Chrome/{v}.0.0.0 Mobile Safari/537.36" for v in (137, 136, 135)),
    *(f"Mozilla/5.0 ({_WINDOWS}) {_BLINK} Chrome/{v}.0.0.0 Safari/537.36" for v in (137, 136, 109)),
    *(f"Mozilla/5.0 ({_WINDOWS}) {_BLINK} Chrome/{v}.0.0.0 Safari/537.36 Edg/{v}.0.0.0" for v in (137, 136)),
    *(f"Mozilla/5.0 ({_WINDOWS}; rv:{v}.0) Gecko/20100101 Firefox/{v}.0" for v in (139, 138)),
    f"Mozilla/5.0 ({_MAC}) {_BLINK} Chrome/137.0.0.0 Safari/537.36",
    f"Mozilla/5.0 ({_MAC}) {_WEBKIT} Version/18.5 Safari/605.1.15",
    f"Mozilla/5.0 (iPad; CPU OS 18_5 like Mac OS X) {_WEBKIT} Version/18.5 Mobile/15E148 Safari/604.1",
    f"Mozilla/5.0 (Linux; Android 13; SM-A536B) {_BLINK} SamsungBrowser/28.0 Chrome/130.0.0.0 Mobile Safari/537.36",
    "Mozilla/5.0 (X11; Linux x86_64; rv:139.0) Gecko/20100101 Firefox/139.0",
)


def agent(person: int) -> str:
    """The browser of one person, spread evenly."""
    return AGENTS[person % len(AGENTS)]


def address(person: int) -> str:
    """Everybody has an address of their own, which is the dearest case."""
    return f"2001:db8::{person >> 16:x}:{person & 0xFFFF:x}"


def digest(text: str) -> bytes:
    """As long as the digests that the service makes."""
    return blake2b(text.encode(), digest_size=12).digest()


def arrival(person: int) -> Arrival:
    """One person as the store receives them: a browser with a client id."""
    where = digest(address(person))
    return Arrival(
        client=digest(f"client {person}"),
        address=where,
        person=Person(address=where.hex(), user_agent=agent(person)),
    )


def request(person: int) -> tuple[JoinRequest, Caller]:
    """One person as the service receives them."""
    return JoinRequest(client_id=f"client-{person:024x}"), Caller(address=address(person), user_agent=agent(person))


class Embedded:
    """An embedded store, with a connection of our own to ask its server about itself."""

    def __init__(self, store: Store, folder: Path) -> None:
        self.store = store
        self.socket = str(folder / "valkey.sock")
        self.server: Any = redis.Redis(unix_socket_path=self.socket, decode_responses=True)

    async def queue(self, name: str, **changes: Any) -> QueueId:
        """A queue for measuring."""
        queue = queue_id(name)
        await self.store.create(queue, checked(SETTINGS | changes))
        return queue

    async def fill(self, queue: QueueId, many: int, first: int = 0) -> float:
        """Let `many` people join, a thousand at once; answers the seconds it took."""
        begun = time.perf_counter()
        starts = iter(range(first, first + many, MAX_BATCH))

        async def caller() -> None:
            for start in starts:
                people = range(start, min(start + MAX_BATCH, first + many))
                await self.store.join(queue, [arrival(person) for person in people])

        # Two, so that one is being made ready while the server works on the other.
        await asyncio.gather(caller(), caller())
        return time.perf_counter() - begun

    @asynccontextmanager
    async def service(self) -> AsyncIterator[Fairline]:
        """The use cases on this store."""
        service = Fairline(self.store, Keyring(bytes(32)))
        try:
            yield service
        finally:
            await service.close()

    @asynccontextmanager
    async def unwritten(self) -> AsyncIterator[None]:
        """Nothing is written to disk meanwhile, and all of it afterwards: for filling, which is not measured."""
        self.server.config_set("appendonly", "no")
        yield
        self.server.config_set("appendonly", "yes")
        while self._writes_all():  # noqa: ASYNC110 - the server has no way to say when
            await asyncio.sleep(0.05)

    def _writes_all(self) -> bool:
        found = self.server.info("persistence")
        return bool(found["aof_rewrite_in_progress"] or found["aof_rewrite_scheduled"])

    def used(self) -> tuple[int, int]:
        """The server's memory in bytes: what it counts as used, and what the system gave it."""
        found = self.server.info("memory")
        return int(found["used_memory"]), int(found["used_memory_rss"])

    def described(self) -> str:
        """What the server is, and how it keeps its data."""
        found = self.server.info("server")
        version = found.get("valkey_version") or found["redis_version"]
        kind = "Valkey" if "valkey_version" in found else "Redis"
        fsync = self.server.config_get("appendfsync")["appendfsync"]
        malloc = self.server.info("memory")["mem_allocator"]
        return f"{kind} {version} ({malloc}) over a Unix socket, appendfsync {fsync}"


@asynccontextmanager
async def embedded() -> AsyncIterator[Embedded]:
    """An embedded store in a temporary folder; both are gone afterwards."""
    with tempfile.TemporaryDirectory(prefix="fairline-bench-") as folder:
        store = await open_store("embedded", data=Path(folder))
        try:
            found = Embedded(store, Path(folder))
            # A rewrite of the append-only file would fall on whatever is measured at that moment.
            found.server.config_set("auto-aof-rewrite-percentage", 0)
            yield found
        finally:
            await store.close()


@cache
def machine() -> str:
    """What all of this runs on."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    python = f"{platform.python_implementation()} {platform.python_version()}"
    return f"{cores} cores ({_processor()}), {platform.system()}, {python}"


def stolen() -> tuple[int, int]:
    """What other guests of the host have taken of our cores since the start, and all there was, in ticks."""
    try:
        ticks = [int(tick) for tick in Path("/proc/stat").read_text(encoding="utf-8").splitlines()[0].split()[1:9]]
    except (OSError, IndexError, ValueError):
        return 0, 0
    return ticks[7], sum(ticks)


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.machine()
    names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(names, platform.machine())


def table(title: str, *columns: str, texts: int = 1) -> Table:
    """An empty table; the first `texts` columns are words, the others numbers."""
    made = Table(title=title, title_justify="left", caption_justify="left", min_width=100)
    for i, heading in enumerate(columns):
        made.add_column(heading, justify="left" if i < texts else "right")
    return made


class Figures(Struct):
    """Calls of one kind: what each took, and for how long they ran, in seconds."""

    latencies: list[float] = []
    seconds: float = 0.0

    @property
    def rate(self) -> float:
        """Calls a second."""
        return len(self.latencies) / self.seconds

    def percentile(self, nth: int) -> float:
        """What `nth` percent of the calls keep within, in milliseconds."""
        return quantiles(self.latencies, n=100)[nth - 1] * 1000

    async def slice(self, callers: int, seconds: float, call: Call) -> None:
        """Let this many callers make one call after the other until the time is over."""
        begun = time.perf_counter()
        until = begun + seconds

        async def caller() -> None:
            while (start := time.perf_counter()) < until:
                await call()
                self.latencies.append(time.perf_counter() - start)

        await asyncio.gather(*(caller() for _ in range(callers)))
        self.seconds += time.perf_counter() - begun


async def in_turns(ways: Sequence[tuple[int, Call]], slices: int, seconds: float) -> list[Figures]:
    """Measure several ways of calling, each with its number of callers, slice by slice in turns: what else the machine
    does falls on all of them alike."""
    found = [Figures() for _ in ways]
    for _ in range(slices):
        for figures, (callers, call) in zip(found, ways, strict=True):
            await figures.slice(callers, seconds, call)
    return found
