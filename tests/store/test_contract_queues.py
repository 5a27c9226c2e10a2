"""Queues: made, changed, removed; what every operation says of a queue that is not there, and of too large a batch."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Any

import msgspec
import pytest

from fairline.domain.events import EventType
from fairline.domain.queue import QueueId, queue_id
from fairline.domain.queue_settings import SETTINGS, QueueSettings
from fairline.domain.settings_checks import checked
from fairline.domain.ticket import Status
from fairline.errors import QueueExists, QueueNotFound, SettingsChanged
from fairline.store import Arrival, Store
from tests.backends import START
from tests.conftest import OpenStore
from tests.store.venue import OpenVenue

#: For every setting a value that is not the default.
OTHER: dict[str, Any] = {
    "name": "Sommer-Ausverkauf ☀️",
    "target_url": "https://shop.example/sale?a=1&b=2",
    "status": "paused",
    "admission": "manual",
    "admission_rate": 0.1,
    "burst": 12.5,
    "max_active": 7,
    "max_queue_size": 9_999_999,
    "stock": 0,
    "stock_url": "https://shop.example/stock",
    "passthrough": True,
    "bypass_paths": ("/static/*", "*.css"),
    "series": ("A", "B2C"),
    "label_restart": "daily",
    "time_zone": "Asia/Seoul",
    "opening_hours": {"monday": ("09:00-12:30", "13:30-18:00"), "friday": ()},
    "closed_dates": ("2027-12-25",),
    "close_early": False,
    "clear_after_minutes": 30,
    "desks": ("Desk 1", "Schalter Süd"),
    "desk_idle_seconds": 600.0,
    "wait_sample": 5,
    "usual_service_minutes": 7.5,
    "phone_region": "KR",
    "max_party_size": 8,
    "group_size": 5,
    "bypass_agents": ("Googlebot", 'a "quoted", one\\'),
    "bypass_addresses": ("10.0.0.0/8", "::1"),
    "priority_policy": "strict",
    "priority_skip": (0.0, 1 / 3, 0.7, 0.99),
    "heartbeat_interval_seconds": 15.5,
    "heartbeat_timeout_seconds": 0.0,
    "grace_seconds": 0.0,
    "closed_page_seconds": 0.0,
    "claim_seconds": 1.001,
    "session_seconds": 86_400.0,
    "session_max_seconds": 86_400.5,
    "one_per": "none",
    "require_user_token": True,
    "join_limit_per_ip": 0,
    "join_limit_per_phone": 1000,
    "join_limit_per_email": 0,
    "ipv6_prefix": 48,
    "ticket_prefix": "RDEMO123",
    "ask_name": "required",
    "ask_phone": "no",
    "ask_email": "required",
    "ask_party_size": "optional",
    "retain_seconds": 0.0,
    "message": "Heute nur ein Schalter.",
    "notices": ("joined", "called"),
    "notice_place": 5,
    "closed_message": "Zurück um 9 Uhr.\n\tBis gleich!",
    "opens_at": "2027-01-15T09:00:00+09:00",
    "logo": "data:image/svg+xml,<svg/>",
    "accent_colour": "#0b6bcb",
    "background_colour": "#FFFFFF",
    "texts": {"waiting_title": "Gleich 'dran'", "footer.ko": "잠시만요"},
    "page_template": "{% extends 'page.html' %}\n{# é #}",
}

#: Other settings that a setting needs to be valid.
BESIDE: dict[str, dict[str, Any]] = {"session_seconds": {"session_max_seconds": 90_000.0}}


def settings_with(field: str) -> QueueSettings:
    return checked(
        {field: OTHER[field]} | BESIDE.get(field, {}) if field != "session_max_seconds" else {field: 86_400.5}
    )


async def test_every_setting_is_kept_as_it_was_given(venue: OpenVenue) -> None:
    default = QueueSettings()
    for field in SETTINGS:
        other = settings_with(field)
        assert getattr(other, field) != getattr(default, field), field
        v = await venue(**{field: OTHER[field]}, **BESIDE.get(field, {}))
        configured = await v.store.settings(v.queue)
        assert configured.settings == other, field
        configured = await v.store.configure(v.queue, default, configured.version)  # unset again
        assert configured == await v.store.settings(v.queue), field
        assert configured.settings == default, field
        configured = await v.store.configure(v.queue, other, configured.version)
        assert configured == await v.store.settings(v.queue), field
        assert configured.settings == other, field


async def test_all_settings_together_are_kept(store: Store, queue: QueueId) -> None:
    settings = checked(OTHER)
    await store.create(queue, settings)
    assert (await store.settings(queue)).settings == settings


async def test_text_is_never_taken_for_something_else(venue: OpenVenue) -> None:
    for text in ("null", "true", "12", "1e5", "0x10", " ", "  a  ", "[0, 1]", "\n", "'\"\\", "é🎟️"):
        settings = {"name": text, "closed_message": text}
        v = await venue(**settings)
        assert (await v.store.settings(v.queue)).settings == checked(settings), text


async def test_settings_at_their_limits_are_kept(store: Store, queue: QueueId) -> None:
    largest = {
        "admission_rate": 100_000.0,
        "burst": 99_999.123456789,
        "max_active": 10_000_000,
        "stock": 1_000_000_000,
        "session_max_seconds": 2_592_000.0,
        "closed_message": "x" * 2000,
    }
    settings = checked(largest)
    await store.create(queue, settings)
    assert (await store.settings(queue)).settings == settings


async def test_a_change_raises_the_version_and_is_told(venue: OpenVenue) -> None:
    v = await venue()
    before = await v.store.settings(v.queue)
    v.clock.advance(3)
    after = await v.store.configure(v.queue, checked({"max_active": 5}), before.version)
    assert after.version > before.version
    assert (await v.store.snapshot(v.queue)).version == after.version
    event = (await v.events())[-1]
    assert (event.type, event.at, event.detail) == (EventType.SETTINGS_CHANGED, v.clock(), str(after.version))


async def test_settings_that_were_changed_meanwhile_are_not_overwritten(venue: OpenVenue) -> None:
    v = await venue()
    await v.configure(max_active=5)
    version = (await v.store.settings(v.queue)).version
    before = await v.everything()
    for off in (-1, 1, 1000):
        with pytest.raises(SettingsChanged) as refused:
            await v.store.configure(v.queue, QueueSettings(), version + off)
        assert refused.value.found == version, off
        assert await v.everything() == before, off


async def test_a_change_leaves_tickets_and_counts_alone(venue: OpenVenue) -> None:
    v = await venue()
    await v.joins(3)
    await v.admit(1)
    tickets, totals = await v.tickets(), (await v.store.stats(v.queue)).totals
    await v.configure(**(OTHER | {"status": "active"}))
    assert await v.tickets() == tickets
    assert (await v.store.stats(v.queue)).totals == totals


async def test_a_new_queue_is_empty(venue: OpenVenue) -> None:
    v = await venue()
    snapshot = await v.store.snapshot(v.queue)
    assert (snapshot.now, snapshot.stopped, snapshot.waiting, snapshot.inside, snapshot.completed) == (
        START,
        0,
        0,
        0,
        0,
    )
    assert (snapshot.stay_seconds, snapshot.leave_rate, snapshot.call_rate) == (0, 0, 0)
    assert await v.tickets() == []
    assert [(event.type, event.at) for event in await v.events()] == [(EventType.QUEUE_CREATED, START)]


async def test_a_queue_is_made_once(venue: OpenVenue) -> None:
    v = await venue(max_active=3)
    await v.join()
    before = await v.everything()
    with pytest.raises(QueueExists):
        await v.store.create(v.queue, QueueSettings())
    assert await v.everything() == before


async def test_queues_are_listed_by_name(store: Store, queue: QueueId) -> None:
    names = [queue_id(f"{queue}{tail}") for tail in ("-b", "-a", ".c", "_D", "-10", "-9")]
    for name in names:
        await store.create(name, QueueSettings())
    assert [name for name in await store.queues() if name.startswith(queue)] == sorted(names)
    await store.delete(names[0])
    assert [name for name in await store.queues() if name.startswith(queue)] == sorted(names[1:])


async def test_queues_know_nothing_of_each_other(venue: OpenVenue) -> None:
    v = await venue()
    other = queue_id(f"{v.queue}-other")
    await v.store.create(other, QueueSettings())
    await v.store.join(other, [Arrival(client=b"me", key=b"k", fingerprint=b"f")])
    await v.store.issue_priority_pass(other, "vip", 1, 1, 60)
    joined = await v.join(client=b"me", key=b"k", fingerprint=b"g")
    assert (joined.created, joined.ticket.number) == (True, 1)
    assert await v.store.passes(v.queue) == []
    await v.store.delete(other)
    assert await v.line() == [1]


async def test_nothing_of_a_removed_queue_comes_back_with_its_name(venue: OpenVenue) -> None:
    v = await venue(session_max_seconds=7200)
    version = (await v.store.settings(v.queue)).version
    for status in Status:
        await v.one(status, client=status.encode(), key=status.encode(), fingerprint=b"f")
    await v.store.revoke(v.queue, 1, "abuse")
    await v.store.issue_priority_pass(v.queue, "vip", 1, 1, 60)
    await v.call(key=b"press")
    await v.store.delete(v.queue)
    assert v.queue not in await v.store.queues()
    with pytest.raises(QueueNotFound):
        await v.store.settings(v.queue)

    v.clock.advance(1)
    await v.store.create(v.queue, QueueSettings())
    now = await v.store.settings(v.queue)
    assert now.settings == QueueSettings()
    assert now.version != version
    assert (await v.store.passes(v.queue), await v.store.revoked(v.queue), await v.tickets()) == ([], {}, [])
    assert [event.type for event in await v.events()] == [EventType.QUEUE_CREATED]
    totals = (await v.store.stats(v.queue)).totals
    assert (totals.joined, totals.peak_waiting, await v.store.hourly(v.queue)) == (0, 0, [])
    joined = await v.join(client=Status.WAITING.encode(), key=Status.WAITING.encode(), fingerprint=b"other")
    assert (joined.created, joined.ticket.number) == (True, 1)
    assert await v.call(key=b"press") == [1]


async def test_a_version_never_comes_back_with_the_name(venue: OpenVenue) -> None:
    v = await venue()
    seen = []
    for _ in range(3):
        for change in range(5):
            await v.configure(max_active=change + 1)  # many in a millisecond
            seen.append(await v.store.version(v.queue))
            assert seen[-1] == (await v.store.snapshot(v.queue)).version
        await v.store.delete(v.queue)
        v.clock.advance(0.001)
        await v.store.create(v.queue, QueueSettings())
        seen.append(await v.store.version(v.queue))
    assert seen == sorted(set(seen))


async def test_a_queue_made_while_it_is_removed_is_listed_if_it_is_there(
    store: Store, another_store: OpenStore, queue: QueueId
) -> None:
    other = await another_store()
    for _ in range(30):
        with suppress(QueueExists):
            await store.create(queue, QueueSettings())
        await asyncio.gather(store.create(queue, QueueSettings()), other.delete(queue), return_exceptions=True)
        try:
            await store.settings(queue)
        except QueueNotFound:
            assert queue not in await store.queues()
        else:
            assert queue in await store.queues()


def test_other_values_are_other_than_the_defaults() -> None:
    defaults = msgspec.structs.asdict(QueueSettings())
    assert set(OTHER) == set(SETTINGS)
    assert [field for field in OTHER if OTHER[field] == defaults[field]] == []
