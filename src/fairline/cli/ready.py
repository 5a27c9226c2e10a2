"""`fairline ready`: whether the running server is well, for health checks."""

from __future__ import annotations

from fairline.cli.client import Api
from fairline.cli.options import Data, Server
from fairline.errors import NotReady
from fairline.settings import ServerRole, load

#: Anyone may ask.
NO_KEY = "none"


def ready(server: Server = None, data: Data = None) -> None:
    """Ask the running server whether it is ready, for a health check. Ends with 1 if it is not."""
    if server is None and load(flags={"data": data}).role is ServerRole.KEEPER:
        print("A keeper listens nowhere: there is nothing to ask.")
        return
    told = Api(server, NO_KEY, data).ready()
    if told.get("status") != "ready":
        checks = told.get("checks")
        found = checks.items() if isinstance(checks, dict) else ()
        amiss = "; ".join(f"{name} {state}" for name, state in found if state != "ok")
        raise NotReady(f"The server is not ready: {amiss or 'it does not say why'}.")
    print("Ready.")
