"""The names of all keys on Valkey, built here and nowhere else.

All keys of a queue share its hash tag, so a queue lives on one cluster node and queues spread over nodes:

| key                        | type       | holds                                                                     |
|----------------------------|------------|---------------------------------------------------------------------------|
| `fl:queues`                | set        | the names of all queues (a hint: a queue is there if its `:queue` is)     |
| `fl:admin-keys`            | hash       | admin keys by id, hashed                                                  |
| `fl:generation`            | string     | which generation of signing keys is in use                                |
| `fl:alive`                 | hash       | when a web worker and a keeper were last there                            |
| `fl:{q}:queue`             | hash       | settings, counters, the token bucket, the measured drain                  |
| `fl:{q}:line`              | sorted set | who waits: number by place                                                |
| `fl:{q}:due`               | sorted set | the one deadline of each ticket, in the queue's own time; also of         |
|                            |            | `k…` keys of calls, `r…` revocations, `p…` passes                         |
| `fl:{q}:tickets`           | hash       | number -> packed record                                                   |
| `fl:{q}:holders`           | hash       | who holds which ticket: `c` client, `u` user, `p` phone, `i` IP address;  |
|                            |            | `j` + idempotency key of a join -> number and fingerprint;                |
|                            |            | `k` + that of a call -> fingerprint and numbers                           |
| `fl:{q}:admitted`, `:active`, `:ended` | sorted set | the other tickets, number by number, by their state           |
| `fl:{q}:events`            | stream     | what happened, trimmed                                                    |
| `fl:{q}:stats`             | hash       | counts by hour (`h…:`), by minute (`m…:`) and so far (`total:`)           |
| `fl:{q}:revoked`           | hash       | number -> reason                                                          |
| `fl:{q}:passes`            | hash       | priority pass -> level, uses, used, expiry                                |
| `fl:{q}:held`              | sorted set | who waits but is put aside: number by place                               |
| `fl:{q}:desks`             | sorted set | desks by when they last called or opened; below 0 they are closed         |
| `fl:{q}:rate:<who>:<action>` | list     | the times of the hits inside a sliding window                             |
"""

from __future__ import annotations

from functools import lru_cache

from fairline.queue import QueueId

QUEUES = "fl:queues"
ADMIN_KEYS = "fl:admin-keys"
GENERATION = "fl:generation"
ALIVE = "fl:alive"

#: The order in which every script is given the keys of a queue.
PARTS = (
    "queue",
    "line",
    "due",
    "tickets",
    "holders",
    "admitted",
    "active",
    "ended",
    "events",
    "stats",
    "revoked",
    "passes",
    "held",
    "desks",
)


@lru_cache(maxsize=1024)
def queue_keys(queue: QueueId) -> tuple[str, ...]:
    """All fixed keys of a queue, in the order of PARTS."""
    return tuple(key(queue, part) for part in PARTS)


def key(queue: QueueId, part: str) -> str:
    """One of the fixed keys of a queue."""
    return f"fl:{{{queue}}}:{part}"


def rate_key(queue: QueueId, who: str, action: str) -> str:
    """Where the hits of one address, phone, user or token are counted for one action."""
    return f"fl:{{{queue}}}:rate:{who}:{action}"
