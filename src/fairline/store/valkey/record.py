"""Packs and unpacks the records that Valkey keeps of tickets.

ticket.lua writes the records. Python reads them here, and packs only the person, which no script reads.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import msgspec
from msgspec.structs import asdict

from fairline.caches import SHARES, cached
from fairline.domain.order import SPAN
from fairline.domain.queue import QueueSnapshot
from fairline.domain.ticket import Came, Person, Reason, Status, Ticket, TicketStatus, Went
from fairline.store.arrivals import Arrival

_HEAD = struct.Struct("<BBBBdd")
_TIMES = struct.Struct("<ddddI")
_STATUS = (Status.WAITING, *Status)  # the codes count from 1
_REASON: tuple[Reason | None, ...] = (None, *Reason)

_WAITING = 1
#: The end of the record of someone who is called or inside, if no desk called them and they were not transferred.
_NO_DESK = b"\0\0\0"
_LEAVING, _ON_HOLD, _EXTRA = 1, 2, 4

_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder().decode

#: User agents are long and similar. Compressed with this dictionary they shrink to about a quarter.
_AGENTS = b"".join(
    (
        b"Mozilla/5.0 (X11; Linux x86_64) Mozilla/5.0 (Android 15; Mobile; rv:139.0) Gecko/139.0 Firefox/139.0",
        b"Mozilla/5.0 (Windows NT 10.0; Win64; x64; rv:139.0) Gecko/20100101 Firefox/139.0 Edg/137.0.0.0",
        b" OPR/119.0.0.0 SamsungBrowser/28.0 CriOS/137.0.7151.79 FxiOS/139.0",
        b"Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.5",
        b" Safari/605.1.15Mozilla/5.0 (iPad; CPU OS 18_5 like Mac OS X)",
        b"Mozilla/5.0 (iPhone; CPU iPhone OS 18_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko)",
        b" Version/18.5 Mobile/15E148 Safari/604.1",
        b"Mozilla/5.0 (Linux; Android 10; K) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/137.0.0.0 Mobile",
        b" Safari/537.36Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko)",
        b" Chrome/137.0.0.0 Safari/537.36",
    )
)


def _packed_agent(agent: str) -> bytes:
    packer = zlib.compressobj(9, zlib.DEFLATED, -12, zdict=_AGENTS)
    return packer.compress(agent.encode()) + packer.flush()


#: Cached, because browsers send the same texts: compressing takes 40 % of the instructions of a join.
_pack_agent = cached(SHARES["user agents"], _packed_agent)


def _unpack_agent(packed: bytes) -> str:
    return zlib.decompressobj(-12, zdict=_AGENTS).decompress(packed).decode()


def pack_person(person: Person) -> bytes:
    """A person as a list, without the missing fields at its end: most people give no data about themselves."""
    address, agent = person.address, person.user_agent
    fields: list[Any] = [bytes.fromhex(address) if address else None, _pack_agent(agent) if agent else None]
    if person != Person(address=address, user_agent=agent):  # otherwise a join takes 3 % more instructions
        fields += (
            person.user_id,
            person.name,
            person.phone,
            person.party_size if person.party_size != 1 else None,
            person.metadata,
            person.email,
            person.language,
        )
    while fields and fields[-1] is None:
        fields.pop()
    return _encode(fields)


def unpack_person(packed: bytes) -> Person:
    """The reverse of `pack_person`."""
    fields: list[Any] = _decode(packed)
    address, agent, user_id, name, phone, party_size, metadata, email, language = fields + [None] * (9 - len(fields))
    return Person(
        user_id=user_id,
        name=name,
        phone=phone,
        email=email,
        language=language,
        party_size=party_size or 1,
        address=address.hex() if address else None,
        user_agent=_unpack_agent(agent) if agent else None,
        metadata=metadata,
    )


def pack_went(went: Went) -> bytes:
    """Where someone went; no script reads it."""
    return _encode((went.queue, went.number, went.joined, went.label))


def pack_came(came: Came | None) -> bytes:
    """Where someone comes from; empty for most people."""
    return _encode((came.queue, came.number, came.joined)) if came else b""


def unpack_came(packed: bytes) -> Came:
    """The reverse of `pack_came`."""
    return Came(*_decode(packed))


def unpack_ticket_status(number: int, row: Sequence[Any], stopped: int) -> TicketStatus:
    """The status of a ticket, from its rank, deadline and record. `stopped` turns the queue's time into the store's."""
    rank, due, record = row
    state, reason, level, flags, _, joined = _HEAD.unpack_from(record)
    moved, serial, drawn_rank, drawn_in, desk = 0, "", 0, "", b""
    if flags & _EXTRA or (state > _WAITING and not record.endswith(_NO_DESK)):
        end = _after_head(record)
        if flags & _EXTRA:
            moved, serial, drawn_rank, drawn_in, end = _extra(record, end)
        if end < len(record):
            desk, _ = _text(record, _text(record, end + _TIMES.size)[1])
    return TicketStatus(
        number=number,
        status=_STATUS[state],
        priority=level,
        joined=int(joined),
        reason=_REASON[reason],
        position=rank + 1 if rank >= 0 else None,
        deadline=int(float(due)) + stopped if due else None,
        leaving=flags & _LEAVING != 0,
        desk=desk.decode() or None,
        on_hold=flags & _ON_HOLD != 0,
        serial=serial,
        moved=moved,
        drawn_rank=drawn_rank,
        drawn_in=drawn_in,
    )


def unpack_ticket(number: int, row: Sequence[Any], stopped: int) -> Ticket:
    """A full ticket, from its rank, deadline and record."""
    record = row[2]
    _, _, _, flags, place, _ = _HEAD.unpack_from(record)
    client, at = _text(record, _HEAD.size)
    _, at = _text(record, at)
    _, at = _text(record, at)
    person, end = _long_text(record, at)
    if flags & _EXTRA:
        *_, end = _extra(record, end)
    admitted = started = ended = 0.0
    views, went = 0, b""
    if end < len(record):
        admitted, started, ended, _, views = _TIMES.unpack_from(record, end)
        _, after = _text(record, end + _TIMES.size)
        _, after = _text(record, after)
        went, _ = _long_text(record, after)
    return Ticket(
        **asdict(unpack_ticket_status(number, row, stopped)),
        place=place,
        admitted=int(admitted),
        started=int(started),
        ended=int(ended),
        page_views=views,
        client=client,
        person=unpack_person(person),
        went=Went(*_decode(went)) if went else None,
    )


def new_tickets(arrivals: Iterable[Arrival], first: Sequence[Any], snapshot: QueueSnapshot) -> Iterator[Ticket]:
    """The new tickets of arrivals in a row, from the number, rank, deadline and place of the first: everything else is
    known from the arrivals."""
    number, rank, due, place = first
    deadline = int(float(due)) + snapshot.stopped if due else None
    for ahead, arrival in enumerate(arrivals):
        yield Ticket(
            number=number + ahead,
            status=Status.WAITING,
            priority=0,
            joined=snapshot.now,
            position=rank + ahead + 1,
            deadline=deadline,
            place=float(place) + ahead * SPAN,
            client=arrival.client,
            person=arrival.person,
        )


def _after_head(record: bytes) -> int:
    at = _HEAD.size
    for _ in range(3):  # the client, the holder, the idempotency key
        at += 1 + record[at]
    return at + 2 + int.from_bytes(record[at : at + 2], "little")  # the person


def _extra(record: bytes, at: int) -> tuple[int, str, int, str, int]:
    serial, end = _text(record, at + 1)
    drawn_in, after = _text(record, end + 4)
    return record[at], serial.decode(), int.from_bytes(record[end : end + 4], "little"), drawn_in.decode(), after


def _text(record: bytes, at: int) -> tuple[bytes, int]:
    end = at + 1 + record[at]
    return record[at + 1 : end], end


def _long_text(record: bytes, at: int) -> tuple[bytes, int]:
    end = at + 2 + int.from_bytes(record[at : at + 2], "little")
    return record[at + 2 : end], end
