"""`fairline ready`: whether the running server is ready, for health checks."""

from __future__ import annotations

from fairline.cli.client import Api
from fairline.cli.options import Data, Server
from fairline.errors import NotReady
from fairline.settings import ServerRole, load


def ready(server: Server = None, data: Data = None) -> None:
    """Ask the running server whether it is ready, for a health check. Exit code 1 if it is not."""
    if server is None and load(flags={"data": data}).role is ServerRole.KEEPER:
        print("A keeper has no port: there is nothing to ask.")
        return
    answer = Api(server, None, data).ready()
    if answer.get("status") != "ready":
        checks = answer.get("checks")
        found = checks.items() if isinstance(checks, dict) else ()
        problems = "; ".join(f"{name} {state}" for name, state in found if state != "ok")
        raise NotReady(f"The server is not ready: {problems or 'it does not say why'}.")
    print("Ready.")
