"""The names of all keys on Valkey, built here and nowhere else.

All keys of a queue share its hash tag, so a queue lives on one cluster node and queues spread over nodes:

| key                        | type       | holds                                                                     |
|----------------------------|------------|---------------------------------------------------------------------------|
| `fl:queues`                | set        | the names of all queues (a hint: a queue is there if its `:queue` is)     |
| `fl:admin-keys`            | hash       | admin keys by id, hashed                                                  |
| `fl:generation`            | string     | which generation of signing keys is in use                                |
| `fl:alive`                 | hash       | when a web worker and a keeper were last there                            |
| `fl:tries:<who>:<action>`  | list       | the times of tries at something of the server's own, as `rate` below      |
| `fl:workers`               | sorted set | each of them, by when it was last there; gone after a minute              |
| `fl:audit`                 | stream     | what was done with admin keys, trimmed                                    |
| `fl:webhooks`              | hash       | webhooks by id                                                            |
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
| `fl:{q}:stats`             | hash       | counts by hour (`h…:`), of the last two days, and so far (`total:`)       |
| `fl:{q}:minutes`           | hash       | minute -> its counts, packed together                                     |
| `fl:{q}:estimates`         | hash       | number -> the wait that was shown at joining, until it is compared        |
| `fl:{q}:revoked`           | hash       | number -> reason                                                          |
| `fl:{q}:passes`            | hash       | priority pass -> level, uses, used, expiry                                |
| `fl:{q}:history`           | stream     | the settings as they were: version -> when, by whom, all of them; trimmed |
| `fl:{q}:on_hold`           | sorted set | who waits but is put aside: number by place                               |
| `fl:{q}:desks`             | sorted set | desks by when they last called or opened; below 0 they are closed         |
| `fl:{q}:hours`             | hash       | hour -> its counts, packed together, once it is older than two days       |
| `fl:{q}:arriving`          | hash       | number -> the ticket of another queue it comes from, until it is released |
| `fl:{q}:rate:<who>:<action>` | list     | the times of the hits inside a sliding window                             |

So do all keys of an outbox; its tag begins with a sign that no queue's name can begin with:

| key                        | type       | holds                                                                     |
|----------------------------|------------|---------------------------------------------------------------------------|
| `fl:{@box}:cursors`        | hash       | the last event taken of each queue; `` when it was made                   |
| `fl:{@box}:deliveries`     | hash       | id -> what is to be sent                                                  |
| `fl:{@box}:marks`          | hash       | id -> tries, when it was made, what the last try met                      |
| `fl:{@box}:pending`        | sorted set | ids by when they are due                                                  |
| `fl:{@box}:dead`           | sorted set | ids by when they were given up                                            |
| `fl:{@box}:threads`        | hash       | what is tried one after the other: of each thread the last id, of each id |
|                            |            | its thread and the next one, until it was tried                           |
"""

from __future__ import annotations

from functools import lru_cache

from fairline.domain.queue import QueueId

QUEUES = "fl:queues"
ADMIN_KEYS = "fl:admin-keys"
GENERATION = "fl:generation"
ALIVE = "fl:alive"
WORKERS = "fl:workers"
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


def tries_key(who: str, action: str) -> str:
    """Where the tries of one address at something of the server's own are counted."""
    return f"fl:tries:{who}:{action}"


#: The order in which every script on an outbox is given its keys.
BOX_PARTS = ("cursors", "deliveries", "marks", "pending", "dead", "threads")


def box_keys(box: str) -> tuple[str, ...]:
    """All keys of an outbox, in the order of BOX_PARTS."""
    return tuple(box_key(box, part) for part in BOX_PARTS)


def box_key(box: str, part: str) -> str:
    """One of the keys of an outbox."""
    return f"fl:{{@{box}}}:{part}"
