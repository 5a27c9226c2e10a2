"""Packs the arrivals of a join as arrivals.lua reads them: what all of them have, then by name what only some have."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fairline.domain.queue import QueueId
from fairline.store.arrivals import Arrival
from fairline.store.valkey.keys import PARTS, rate_key
from fairline.store.valkey.record import pack_came, pack_person


def pack_arrivals(queue: QueueId, arrivals: Sequence[Arrival]) -> tuple[list[Any], list[str]]:
    """The arguments of the script, and the keys of the limits that they name by index."""
    limits: dict[tuple[str, bytes], int] = {}
    first = len(PARTS) + 1

    def limit_key(a: Arrival, kind: str, who: bytes) -> int:
        return limits.setdefault((kind, who), first + len(limits)) if a.limited and who else 0

    address_keys = [limit_key(a, "ip", a.address) for a in arrivals]
    args: list[Any] = [len(arrivals)]
    for a, address_key in zip(arrivals, address_keys, strict=True):
        args += (a.client, a.address, address_key, pack_person(a.person))
    for i, a in enumerate(arrivals, 1):
        if a.limited and not _has_extras(a):
            continue
        hourly = {"phone_key": limit_key(a, "phone", a.phone), "email_key": limit_key(a, "email", a.email)}
        for name, value in (_extras(a) | hourly).items():
            if value:
                args += (i, name, value)
    return args, [rate_key(queue, f"{kind}:{who.hex()}", "join") for kind, who in limits]


def _has_extras(a: Arrival) -> bool:
    extras = (a.user, a.phone, a.email, a.key, a.priority, a.pass_id, a.through, a.series, a.on_hold, a.missing)
    return a.group is not None or any(extras) or a.came is not None


def _extras(a: Arrival) -> dict[str, Any]:
    """What only some arrivals have."""
    return {
        "user": a.user,
        "phone": a.phone,
        "key": a.key,
        "fingerprint": a.fingerprint,
        "level": a.priority,
        "pass": a.pass_id,
        "unlimited": int(not a.limited),
        "through": int(a.through),
        "series": a.series,
        "on_hold": int(a.on_hold),
        "came": pack_came(a.came),
        "missing": a.missing,
        "group": f"{a.group[0]}:{a.group[1]}" if a.group else "",
    }
