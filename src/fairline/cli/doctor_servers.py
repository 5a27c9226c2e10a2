"""What `fairline doctor` finds in a store that is open: its settings, and the servers that run on it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from fairline.domain.tokens import Keyring
from fairline.errors import InvalidSettings
from fairline.process.secrets import SECRET, secrets_in
from fairline.settings import ServerRole, ServerSettings
from fairline.store import ServerSeen, Store

SKEW_SECONDS = 2.0


class Finding(NamedTuple):
    """What was checked, its state, what was found, and what to do."""

    what: str
    state: str
    found: str
    advice: str = ""


async def look_into(store: Store, settings: ServerSettings) -> list[Finding]:
    """All findings about a store that answers."""
    from fairline.process.roles import seconds_ahead  # it loads slowly, and no other command needs it

    queues = await store.queues()
    findings = [Finding("store", "ok", f"{settings.store.partition('://')[0]} answers, {len(queues)} queues")]
    skew = abs(await seconds_ahead(store))
    clock = "ok" if skew < SKEW_SECONDS else "warn"
    advice = "" if clock == "ok" else "Tokens expire by this machine's clock. Synchronise both with NTP."
    findings.append(Finding("clock", clock, f"within {skew:.1f} s of the store's", advice))
    findings += [
        Finding(each.what, "bad" if each.loses_places else "warn", each.found, each.advice)
        for each in await store.registry.warnings()
    ]
    servers = await store.registry.servers()
    findings += await _keepers(store, settings, servers)
    findings += _secrets(settings, servers)
    findings += _clocks(servers)
    return findings


async def _keepers(store: Store, settings: ServerSettings, servers: list[ServerSeen]) -> list[Finding]:
    """Whether there is a keeper for the web servers that run, or for the one that would be started here."""
    from fairline.process.roles import is_there

    webs = [each for each in servers if each.role == ServerRole.WEB]
    if not servers and settings.role is not ServerRole.WEB:
        return []  # nothing runs, and what would be started here has a keeper of its own
    if await is_there(store, "keeper", settings.sweep_seconds):
        names = sorted(each.name for each in await store.registry.workers() if each.part == "keeper")
        return [Finding("keeper", "ok", f"runs: {_listed(names)}")]
    advice = "Start one on the same store: fairline serve --role keeper"
    if webs:
        found = f"none has run recently, and {_listed([each.name for each in webs])} cannot let anybody in"
        return [Finding("keeper", "bad", found, advice)]
    return [Finding("keeper", "warn", "none has run recently on this store", advice)]


def _secrets(settings: ServerSettings, servers: list[ServerSeen]) -> Iterator[Finding]:
    """Whether all servers have one secret, and this machine has the same."""
    by_secret: dict[str, list[str]] = {}
    for each in servers:
        by_secret.setdefault(each.secret, []).append(each.name)
    advice = "Each refuses the tokens of the others. Set the same FAIRLINE_SECRET on all, and restart them."
    if len(by_secret) > 1:
        groups = "; ".join(_listed(names) for names in by_secret.values())
        yield Finding("secrets", "bad", f"servers on this store have {len(by_secret)} different ones: {groups}", advice)
        return
    own = _own_secret(settings)
    if by_secret and own and own not in by_secret:
        found = f"this machine has another one than {_listed([each.name for each in servers])}"
        yield Finding("secrets", "bad", found, advice)
    elif by_secret:
        yield Finding("secrets", "ok", f"one for all servers on this store ({len(servers)} processes)")


def _own_secret(settings: ServerSettings) -> str | None:
    """The fingerprint of the secret that a server here would have; None if there is none yet."""
    try:
        secret = settings.secret or secrets_in(settings.data).get(SECRET)
    except (InvalidSettings, OSError):
        return None  # a damaged file is a finding already
    return Keyring(secret.encode()).fingerprint if secret else None


def _clocks(servers: list[ServerSeen]) -> Iterator[Finding]:
    """Whether the clocks of all machines agree with the store's."""
    machines: dict[str, float] = {}
    for each in servers:
        machine = each.name.rpartition(":")[0]
        machines[machine] = max(machines.get(machine, 0.0), each.ahead_seconds, key=abs)
    apart = [
        f"{name} is {abs(seconds):.1f} s {'ahead' if seconds > 0 else 'behind'}"
        for name, seconds in machines.items()
        if abs(seconds) >= SKEW_SECONDS
    ]
    if apart:
        advice = "Tokens expire by the clock of the server that is asked. Synchronise all machines with NTP."
        yield Finding("clocks", "bad", f"compared with the store, {_listed(apart)}", advice)


def _listed(names: list[str]) -> str:
    """Up to three names, and how many more there are."""
    more = len(names) - 3
    return ", ".join(names[:3]) + (f" and {more} more" if more > 0 else "")
