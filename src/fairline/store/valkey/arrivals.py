"""Packs those who want to join as the script takes them: what all of them tell, then by name what only some do."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fairline.queue import QueueId
from fairline.store.contract import Arrival
from fairline.store.valkey.keys import PARTS, rate_key
from fairline.store.valkey.record import pack_came, pack_person


def pack_arrivals(queue: QueueId, arrivals: Sequence[Arrival]) -> tuple[list[Any], list[str]]:
    """The script's arguments, and the keys of the limits that they name by their index."""
    limits: dict[tuple[str, bytes], int] = {}
    first = len(PARTS) + 1
    address_keys = [
        limits.setdefault(("ip", a.address), first + len(limits)) if a.limited and a.address else 0 for a in arrivals
    ]
    args: list[Any] = [len(arrivals)]
    args += [a.client for a in arrivals]
    args += [a.address for a in arrivals]
    args += address_keys
    args += [pack_person(a.person) for a in arrivals]
    for who, a in enumerate(arrivals, 1):
        if a.limited and not _tells_more(a):
            continue
        phone_key = limits.setdefault(("phone", a.phone), first + len(limits)) if a.limited and a.phone else 0
        for name, value in _more(a, phone_key).items():
            if value:
                args += (who, name, value)
    return args, [rate_key(queue, f"{kind}:{who.hex()}", "join") for kind, who in limits]


def _tells_more(a: Arrival) -> bool:
    return bool(
        a.user or a.phone or a.key or a.priority or a.pass_id or a.through or a.series or a.held or a.came is not None
    )


def _more(a: Arrival, phone_key: int) -> dict[str, Any]:
    """What most do not tell."""
    return {
        "user": a.user,
        "phone": a.phone,
        "phone_key": phone_key,
        "key": a.key,
        "fingerprint": a.fingerprint,
        "level": a.priority,
        "pass": a.pass_id,
        "unlimited": int(not a.limited),
        "through": int(a.through),
        "series": a.series,
        "held": int(a.held),
        "came": pack_came(a.came),
    }
