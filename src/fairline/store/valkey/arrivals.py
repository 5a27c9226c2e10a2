"""Packs those who want to join as the script takes them: what all of them tell, then by name what only some do."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fairline.domain.queue import QueueId
from fairline.store.contract import Arrival
from fairline.store.valkey.keys import PARTS, rate_key
from fairline.store.valkey.record import pack_came, pack_person


def pack_arrivals(queue: QueueId, arrivals: Sequence[Arrival]) -> tuple[list[Any], list[str]]:
    """The script's arguments, and the keys of the limits that they name by their index."""
    limits: dict[tuple[str, bytes], int] = {}
    first = len(PARTS) + 1

    def limit_key(a: Arrival, kind: str, who: bytes) -> int:
        return limits.setdefault((kind, who), first + len(limits)) if a.limited and who else 0

    address_keys = [limit_key(a, "ip", a.address) for a in arrivals]
    args: list[Any] = [len(arrivals)]
    args += [a.client for a in arrivals]
    args += [a.address for a in arrivals]
    args += address_keys
    args += [pack_person(a.person) for a in arrivals]
    for who, a in enumerate(arrivals, 1):
        if a.limited and not _tells_more(a):
            continue
        hourly = {"phone_key": limit_key(a, "phone", a.phone), "email_key": limit_key(a, "email", a.email)}
        for name, value in (_more(a) | hourly).items():
            if value:
                args += (who, name, value)
    return args, [rate_key(queue, f"{kind}:{who.hex()}", "join") for kind, who in limits]


def _tells_more(a: Arrival) -> bool:
    told = (a.user, a.phone, a.email, a.key, a.priority, a.pass_id, a.through, a.series, a.on_hold, a.missing)
    return any(told) or a.came is not None


def _more(a: Arrival) -> dict[str, Any]:
    """What most do not tell."""
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
    }
