"""Packs those who want to join as the script takes them: what everyone tells at fixed places, the rest by name."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fairline.queue import QueueId
from fairline.store.contract import Arrival
from fairline.store.valkey.keys import PARTS, rate_key
from fairline.store.valkey.record import pack_came, pack_person


def pack_arrivals(queue: QueueId, arrivals: Sequence[Arrival]) -> tuple[list[Any], list[str]]:
    """The script's arguments, and the keys of the limits that they name by their index."""
    args: list[Any] = []
    limits: dict[tuple[str, bytes], int] = {}
    first = len(PARTS) + 1
    for a in arrivals:
        limited = a.limited
        address_key = limits.setdefault(("ip", a.address), first + len(limits)) if limited and a.address else 0
        if limited and not _tells_more(a):
            args += (a.client, a.address, address_key, pack_person(a.person), 0)
            continue
        args += (a.client, a.address, address_key, pack_person(a.person))
        phone_key = limits.setdefault(("phone", a.phone), first + len(limits)) if limited and a.phone else 0
        more = _more(a, phone_key)
        args.append(len(more) // 2)
        args += more
    return args, [rate_key(queue, f"{kind}:{who.hex()}", "join") for kind, who in limits]


def _tells_more(a: Arrival) -> bool:
    return bool(
        a.user or a.phone or a.key or a.priority or a.pass_id or a.through or a.series or a.held or a.came is not None
    )


def _more(a: Arrival, phone_key: int) -> list[Any]:
    """What someone tells that most do not: a name and a value for each."""
    told = {
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
    return [each for pair in told.items() if pair[1] for each in pair]
