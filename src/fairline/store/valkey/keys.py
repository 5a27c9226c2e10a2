"""The names of all keys on Valkey, built here and nowhere else.

All keys of a queue share its hash tag, so a queue lives on one cluster node and queues spread over nodes:

| key                        | type       | holds                                                                     |
|----------------------------|------------|---------------------------------------------------------------------------|
| `fl:queues`                | set        | the names of all queues (a hint: a queue is there if its `:queue` is)     |
| `fl:admin-keys`            | hash       | admin keys by id, hashed                                                  |
| `fl:generation`            | string     | which generation of signing keys is in use                                |
| `fl:alive`                 | hash       | when a web worker and a keeper were last seen                             |
| `fl:tries:<who>:<action>`  | list       | the times of tries at something of the server, as `rate` below            |
| `fl:workers`               | sorted set | each of them, by when it was last seen; removed after a minute            |
| `fl:servers`               | sorted set | what each of them says of itself, likewise                                |
| `fl:audit`                 | stream     | what was done with admin keys, trimmed                                    |
| `fl:webhooks`              | hash       | webhooks by id                                                            |
| `fl:{q}:queue`             | hash       | settings, counters, the token bucket, the measured drain                  |
| `fl:{q}:line`              | sorted set | the tickets that wait: number by place                                    |
| `fl:{q}:due`               | sorted set | the one deadline of each ticket, in the queue's own time; also of         |
|                            |            | `k…` keys of calls, `r…` revocations, `p…` passes                         |
| `fl:{q}:tickets`           | hash       | number -> packed record                                                   |
| `fl:{q}:holders`           | hash       | who holds which ticket: `c` client, `u` user, `p` phone, `i` IP address;  |
|                            |            | `j` + idempotency key of a join -> number and fingerprint;                |
|                            |            | `k` + that of a call -> fingerprint and numbers                           |
| `fl:{q}:admitted`, `:active`, `:ended` | sorted set | the other tickets, number by number, by their state           |
| `fl:{q}:events`            | stream     | the events, trimmed                                                       |
| `fl:{q}:stats`             | hash       | counts by hour (`h…:`) of the last two days, and in total (`total:`)      |
| `fl:{q}:minutes`           | hash       | minute -> its counts, packed together                                     |
| `fl:{q}:estimates`         | hash       | number -> the wait that was shown at joining, until it is compared        |
| `fl:{q}:revoked`           | hash       | number -> reason                                                          |
| `fl:{q}:passes`            | hash       | priority pass -> level, uses, used, expiry                                |
| `fl:{q}:history`           | stream     | the settings as they were: version -> when, by whom, all of them; trimmed |
| `fl:{q}:on_hold`           | sorted set | the tickets on hold: number by place                                      |
| `fl:{q}:desks`             | sorted set | desks by when they last called or opened; negative if they are closed     |
| `fl:{q}:hours`             | hash       | hour -> its counts, packed together, once it is older than two days       |
| `fl:{q}:arriving`          | hash       | number -> the ticket of another queue it comes from, until it is released |
| `fl:{q}:groups`            | hash       | who waits with whom: see `groups.lua`                                     |
| `fl:{q}:draws`            | hash       | what belongs to draws: `<opening>:<part>`                                  |
| `fl:{q}:members`          | sorted set | the tickets in the draw that was frozen last                              |
| `fl:{q}:rate:<who>:<action>` | list     | the times of the hits inside a sliding window                             |

All keys of an outbox share a tag too. It begins with a character that no name of a queue begins with:

| key                        | type       | holds                                                                     |
|----------------------------|------------|---------------------------------------------------------------------------|
| `fl:{@box}:cursors`        | hash       | the last event taken from each queue; `` when the outbox was created      |
| `fl:{@box}:deliveries`     | hash       | id -> payload                                                             |
| `fl:{@box}:marks`          | hash       | id -> tries, when it was added, the error of the last try                 |
| `fl:{@box}:pending`        | sorted set | ids by when they are due                                                  |
| `fl:{@box}:dead`           | sorted set | ids by when they were given up                                            |
| `fl:{@box}:threads`        | hash       | deliveries tried one after the other: each thread -> its last id, each id |
|                            |            | -> its thread and the next id, until it was tried                         |
"""

from __future__ import annotations

from functools import lru_cache

from fairline.domain.queue import QueueId

#: How every key begins.
PREFIX = "fl:"
QUEUES = "fl:queues"
ADMIN_KEYS = "fl:admin-keys"
GENERATION = "fl:generation"
ALIVE = "fl:alive"
WORKERS = "fl:workers"
SERVERS = "fl:servers"
TRIES = "fl:tries:"
AUDIT = "fl:audit"
WEBHOOKS = "fl:webhooks"

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
    "history",
    "minutes",
    "estimates",
    "on_hold",
    "desks",
    "arriving",
    "hours",
    "groups",
)


@lru_cache(maxsize=1024)
def queue_keys(queue: QueueId) -> tuple[str, ...]:
    """All fixed keys of a queue, in the order of PARTS. Cached: a call that is alone in its batch would take 5 % more
    instructions."""
    return tuple(key(queue, part) for part in PARTS)


def draw_keys(queue: QueueId) -> tuple[str, str]:
    """The keys of draws, which only their scripts are given, after the others."""
    return key(queue, "draws"), key(queue, "members")


def key(queue: QueueId, part: str) -> str:
    """One of the fixed keys of a queue."""
    return f"fl:{{{queue}}}:{part}"


def rate_key(queue: QueueId, who: str, action: str) -> str:
    """Where the hits of one address, phone, user or token are counted for one action."""
    return f"fl:{{{queue}}}:rate:{who}:{action}"


def tries_key(who: str, action: str) -> str:
    """Where the tries of one address at something of the server, such as signing in, are counted."""
    return f"{TRIES}{who}:{action}"


#: The order in which every script on an outbox is given its keys.
BOX_PARTS = ("cursors", "deliveries", "marks", "pending", "dead", "threads")


def box_keys(box: str) -> tuple[str, ...]:
    """All keys of an outbox, in the order of BOX_PARTS."""
    return tuple(box_key(box, part) for part in BOX_PARTS)


def box_key(box: str, part: str) -> str:
    """One of the keys of an outbox."""
    return f"fl:{{@{box}}}:{part}"
