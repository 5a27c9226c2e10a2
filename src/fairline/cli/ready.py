"""`fairline ready`: whether the running server is ready, for health checks."""

from __future__ import annotations

import socket

from fairline.cli.client import Api
from fairline.cli.options import Data, Server
from fairline.errors import NotReady, StoreError
from fairline.settings import ServerRole, ServerSettings, load


def ready(server: Server = None, data: Data = None) -> None:
    """Ask the running server whether it is ready, for a health check. Exit code 1 if it is not."""
    settings = load(flags={"data": data})
    if server is None and settings.role is ServerRole.KEEPER:
        import asyncio  # imported late, like the store: loading them takes longer than asking a server

        asyncio.run(_check_keeper(settings))
    else:
        _check_server(Api(server, None, data).ready())
    print("Ready.")


def _check_server(answer: dict[str, object]) -> None:
    if answer.get("status") != "ready":
        checks = answer.get("checks")
        found = checks.items() if isinstance(checks, dict) else ()
        problems = "; ".join(f"{name} {state}" for name, state in found if state != "ok")
        raise NotReady(f"The server is not ready: {problems or 'it does not say why'}.")


async def _check_keeper(settings: ServerSettings) -> None:
    """A keeper has no port to be asked at. The store knows when one of this machine has last made a round."""
    from fairline.store import EMBEDDED, open_store

    if settings.store in EMBEDDED:
        raise NotReady("The keeper is not ready: its store is embedded, so no other process can reach its queues.")
    try:
        store = await open_store(settings.store)
        try:
            seen, now = await store.registry.workers(), await store.time()
        finally:
            await store.close()
    except StoreError:
        raise NotReady("The keeper is not ready: store does not answer.") from None
    of_this_machine = f"{socket.gethostname()}:"
    rounds = [each.at for each in seen if each.part == "keeper" and each.name.startswith(of_this_machine)]
    if not any(now - at < 3000 * settings.sweep_seconds for at in rounds):
        raise NotReady("The keeper is not ready: it has made no round of late.")
