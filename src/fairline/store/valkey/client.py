"""Talks to Valkey or Redis, one server or a cluster: runs scripts, and turns the client's errors into Fairline's."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Coroutine, Sequence
from contextlib import asynccontextmanager
from typing import Any, TypeAlias

from redis.asyncio import BlockingConnectionPool, Redis
from redis.asyncio.cluster import RedisCluster
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.exceptions import (
    AuthenticationError,
    BusyLoadingError,
    ClusterDownError,
    MaxConnectionsError,
    NoScriptError,
    OutOfMemoryError,
    ReadOnlyError,
    RedisClusterException,
    RedisError,
    ResponseError,
    TryAgainError,
)
from redis.exceptions import ConnectionError as RedisConnectionError
from redis.exceptions import TimeoutError as RedisTimeoutError

from fairline.aio.cancellation import cancellation_kept
from fairline.domain.queue import QueueId
from fairline.errors import QueueNotFound, StoreError, StoreNotSupported, StoreUnavailable
from fairline.store.valkey.keys import queue_keys
from fairline.store.valkey.pipe import Pipe
from fairline.store.valkey.scripts import script

#: A Redis or a RedisCluster. Their annotations describe all their modes at once and fit none, so they are not used.
Connection: TypeAlias = Any

_SCHEMES = {"valkey": "redis", "valkeys": "rediss", "valkey+unix": "unix", "redis+unix": "unix"}
_AWAY = (
    RedisConnectionError,
    RedisTimeoutError,
    BusyLoadingError,
    ClusterDownError,
    TryAgainError,
    MaxConnectionsError,
    ReadOnlyError,
    RedisClusterException,
    OSError,
)
#: All that the client raises.
_ERRORS = (RedisError, RedisClusterException, OSError)
#: A call is never sent again automatically: a join could then be done twice.
_ONCE = {"retry": Retry(NoBackoff(), 0)}
_ANSWER_SECONDS = 5.0
_LIMITS = {"socket_connect_timeout": 2.0, "socket_keepalive": True}


class PatientCluster(RedisCluster):
    """A cluster client that waits for a free connection as the pool of one server does, instead of refusing."""

    def __init__(self, *, max_connections: int, **options: Any) -> None:
        # Reading the shape of the cluster takes more connections. Unless the steps are set to 0, every fifth
        # redirection closes all connections, also those with calls in progress.
        super().__init__(max_connections=max_connections + 4, reinitialize_steps=0, **options)
        self._permits = asyncio.Semaphore(max_connections)

    async def execute_command(self, *args: Any, **kwargs: Any) -> Any:
        async with self._permits:
            return await super().execute_command(*args, **kwargs)

    async def aclose(self) -> None:
        await super().aclose()
        # After a lost connection the client believes it is closed, and would leave the other connections open.
        for nodes in ("nodes_cache", "startup_nodes"):
            await self.nodes_manager.aclose(nodes)


def connect(url: str, connections: int, *, answer_seconds: float = _ANSWER_SECONDS) -> Connection:
    """A client for the address; nothing is sent yet. Each answer may take as long as `answer_seconds`."""
    scheme, rest = url.partition(":")[0].lower(), url.partition("://")[2]
    limits: dict[str, Any] = {"socket_timeout": answer_seconds, **_ONCE}
    if not scheme.endswith("unix"):
        limits |= _LIMITS
    try:
        if scheme.endswith("+cluster"):
            plain = scheme.removesuffix("+cluster")
            return PatientCluster.from_url(
                f"{_SCHEMES.get(plain, plain)}://{rest}", max_connections=connections, **limits
            )
        pool = BlockingConnectionPool.from_url(
            f"{_SCHEMES.get(scheme, scheme)}://{rest}", max_connections=connections, timeout=5, **limits
        )
    except (ValueError, RedisError) as error:
        raise StoreNotSupported(f"The store's address cannot be read: {error}.") from None
    return Redis.from_pool(pool)


async def ask_all(client: Connection, commands: Sequence[Sequence[Any]]) -> list[Any]:
    """The answers to many small commands about different queues: in one round trip if one server has all of them."""
    if not commands:
        return []
    if isinstance(client, PatientCluster):
        return await asyncio.gather(*(client.execute_command(*command) for command in commands))
    async with client.pipeline(transaction=False) as pipeline:
        for command in commands:
            pipeline.execute_command(*command)
        answers: list[Any] = await pipeline.execute()
        return answers


async def nodes_of(client: Connection) -> list[dict[str, Any]]:
    """The options that send a command to each server that has keys, one after the other."""
    if not isinstance(client, PatientCluster):
        return [{}]
    cluster: Any = client  # its annotations do not say that this is awaited
    await cluster.initialize()
    return [{"target_nodes": node} for node in client.get_primaries()]


def text_of(answer: Any, field: str) -> str | None:
    """One field of an answer of CONFIG GET or INFO, of which the client makes a mapping; None if it is not there."""
    value = answer.get(field)
    return None if value is None else str(value)


def translated(error: Exception, queue: QueueId | None = None) -> StoreError | QueueNotFound:
    """An error of the client or of the server as one of Fairline's."""
    match error:
        case AuthenticationError():
            return StoreNotSupported(f"The store refuses the name or password in its address: {error}.")
        case OutOfMemoryError():
            return StoreUnavailable("it is out of memory; raise its maxmemory")
        case ResponseError() if str(error).startswith("MISCONF"):
            return StoreUnavailable("it cannot write to its disk, and accepts no changes; free some space there")
        case ResponseError() if not isinstance(error, _AWAY):
            if queue is not None and str(error).startswith("NOQUEUE"):
                return QueueNotFound(queue)
            return StoreError(f"The store refused a call: {error}. Is it Valkey 8 or Redis 7, or newer?")
        case _:
            return StoreUnavailable(str(error) or type(error).__name__)


@asynccontextmanager
async def mapped_errors(queue: QueueId | None = None) -> AsyncIterator[None]:
    """Turn the client's errors into Fairline's."""
    with cancellation_kept():
        try:
            yield
        except _ERRORS as error:
            raise translated(error, queue) from error


class Runner:
    """Runs scripts and small commands: through one pipe to a single server, through the client to a cluster."""

    def __init__(self, client: Connection) -> None:
        self._pipe: Pipe | None = None
        self._call = client.execute_command
        if isinstance(client, Redis):
            pool = client.connection_pool
            self._pipe = Pipe(lambda: pool.connection_class(**pool.connection_kwargs), _ANSWER_SECONDS)
            self._call = self._pipe.call

    def run(
        self, name: str, queue: QueueId, args: Sequence[Any], more_keys: Sequence[str] = ()
    ) -> Coroutine[Any, Any, Any]:
        """Run one script on a queue; `args` begin with the time."""
        return self.run_on(name, (*queue_keys(queue), *more_keys), args, queue)

    async def run_on(self, name: str, keys: Sequence[str], args: Sequence[Any], queue: QueueId | None = None) -> Any:
        """Run one script on these keys; `args` begin with the time."""
        return await self._answered(self._run(name, keys, args), queue)

    async def ask(self, *command: Any) -> Any:
        """One command on one key."""
        return await self._answered(self._call(*command))

    async def _answered(self, call: Awaitable[Any], queue: QueueId | None = None) -> Any:
        if self._pipe is None:
            async with mapped_errors(queue):
                return await call
        try:
            return await call
        except _ERRORS as error:
            raise translated(error, queue) from error

    async def _run(self, name: str, keys: Sequence[str], args: Sequence[Any]) -> Any:
        body = script(name)
        try:
            return await self._call("EVALSHA", body.sha, len(keys), *keys, *args)
        except NoScriptError:
            # The server was restarted, or this node has never had the script. It did not run, so sending it again is
            # safe.
            return await self._call("EVAL", body.source, len(keys), *keys, *args)

    async def close(self) -> None:
        """Close the pipe."""
        if self._pipe is not None:
            await self._pipe.close()
