"""What belongs to the server rather than to a queue: admin keys, generations of signing keys, who serves, the audit."""

from __future__ import annotations

import asyncio
import secrets
from typing import Any

import pytest

from fairline.errors import InvalidRequest
from fairline.store import AdminKey, AuditedAction, AuditEntry, ProcessSeen, Role, ServerSeen, Store
from fairline.store.postgres import registry as postgres_registry
from fairline.store.valkey import registry as valkey_registry
from tests.backends import START, FakeClock
from tests.conftest import OpenStore


def new_key(role: Role = Role.ADMIN, created: int = 1, name: str = "Ops – Nacht") -> AdminKey:
    return AdminKey(id=secrets.token_hex(8), role=role, name=name, digest=secrets.token_hex(16), created=created)


async def test_an_admin_key_is_kept_as_it_was_given(store: Store, another_store: OpenStore) -> None:
    other = await another_store()
    for role in Role:
        key = new_key(role)
        assert await store.registry.admin_key(key.id) is None
        await store.registry.put_admin_key(key)
        assert await other.registry.admin_key(key.id) == key


async def test_admin_keys_are_listed_oldest_first(store: Store) -> None:
    keys = [new_key(created=created) for created in (30, 10, 20)]
    for key in keys:
        await store.registry.put_admin_key(key)
    found = [key for key in await store.registry.admin_keys() if key in keys]
    assert found == sorted(keys, key=lambda key: key.created)


async def test_an_admin_key_is_replaced_by_one_with_its_id(store: Store) -> None:
    key = new_key()
    await store.registry.put_admin_key(key)
    changed = AdminKey(id=key.id, role=Role.VIEWER, name="x", digest="y", created=key.created)
    await store.registry.put_admin_key(changed)
    assert [found for found in await store.registry.admin_keys() if found.id == key.id] == [changed]


async def test_a_removed_admin_key_is_gone_at_once(store: Store) -> None:
    key = new_key()
    await store.registry.put_admin_key(key)
    assert await store.registry.remove_admin_key(key.id)
    assert await store.registry.admin_key(key.id) is None
    assert key not in await store.registry.admin_keys()
    assert not await store.registry.remove_admin_key(key.id)


async def test_every_rotation_is_a_generation_of_its_own_for_all(store: Store, another_store: OpenStore) -> None:
    other = await another_store()
    before = await store.registry.generation()
    assert before >= 1
    given = await asyncio.gather(*(each.registry.rotate() for each in (store, other) * 5))
    assert sorted(given) == list(range(before + 1, before + 11))
    assert await store.registry.generation() == await other.registry.generation() == before + 10


async def test_the_last_sign_of_each_part_is_kept(store: Store, another_store: OpenStore, clock: FakeClock) -> None:
    await store.registry.mark_alive("web", "one:1")
    clock.advance(30)
    await store.registry.mark_alive("keeper", "one:2")
    other = await another_store()
    assert await other.registry.last_alive("web") == clock() - 30_000
    assert await other.registry.last_alive("keeper") == clock()


async def test_tries_are_limited_for_all_who_share_the_store(
    store: Store, another_store: OpenStore, clock: FakeClock
) -> None:
    who, other = f"address:{secrets.token_hex(4)}", await another_store()
    for each in (store, other, store):
        assert await each.registry.limit(who, "sign-in", 3, 60) == 0
        clock.advance(10)
    assert await other.registry.limit(who, "sign-in", 3, 60) == 30
    assert await other.registry.limit("address:else", "sign-in", 3, 60) == 0
    clock.advance(30)
    assert await other.registry.limit(who, "sign-in", 3, 60) == 0
    assert await store.registry.limit(who, "sign-in", 3, 60) == 10


async def test_tries_are_told_and_asking_is_none(store: Store, another_store: OpenStore, clock: FakeClock) -> None:
    who, other = f"address:{secrets.token_hex(4)}", await another_store()
    assert await store.registry.tries(who, "sign-out", 60) == 0
    await store.registry.limit(who, "sign-out", 3, 60)
    clock.advance(10)
    await store.registry.limit(who, "sign-out", 3, 60)
    assert [await each.registry.tries(who, "sign-out", 60) for each in (store, other, other)] == [2, 2, 2]
    assert await store.registry.tries(who, "sign-in", 60) == 0
    assert await store.registry.tries("address:else", "sign-out", 60) == 0
    clock.advance(50)
    assert await other.registry.tries(who, "sign-out", 60) == 1
    clock.advance(10)
    assert await other.registry.tries(who, "sign-out", 60) == 0


async def test_what_would_hurt_is_said_with_what_to_do(store: Store) -> None:
    cautions = await store.registry.warnings()
    assert cautions  # the servers of the tests are set up for speed
    assert all(caution.what in caution.found and caution.advice for caution in cautions)


# Who serves


@pytest.fixture
def clock(session_clock: FakeClock) -> FakeClock:
    """Each test has a time of its own: what belongs to the server is there for all of them."""
    session_clock.now = START + secrets.randbelow(1_000_000) * 1_000_000
    return session_clock


async def test_what_processes_say_of_themselves_is_kept_for_a_minute(store: Store, clock: FakeClock) -> None:
    name = f"machine-{secrets.token_hex(4)}:1"
    said = ServerSeen(name=name, role="web", secret="f" * 16, ahead_seconds=0.0)
    later = ServerSeen(name=name, role="web", secret="f" * 16, ahead_seconds=2.5)
    listed = [each.name for each in await store.registry.workers()]
    for each in (said, later):
        clock.advance(5)
        await store.registry.show_server(each)
    clock.advance(59)
    assert [each for each in await store.registry.servers() if each.name == name] == [later]
    assert [each.name for each in await store.registry.workers()] == listed  # who serves is another list
    clock.advance(2)
    assert [each for each in await store.registry.servers() if each.name == name] == []


async def test_each_process_is_listed_until_it_has_not_been_seen_for_a_minute(
    store: Store, another_store: OpenStore, clock: FakeClock
) -> None:
    old, new = f"old:{secrets.token_hex(4)}", f"new:{secrets.token_hex(4)}"
    await store.registry.mark_alive("web", old)
    await store.registry.mark_alive("keeper", old)
    other = await another_store()
    clock.advance(50)
    seen = clock()
    await other.registry.mark_alive("web", new)
    await other.registry.mark_alive("web", new)

    async def ours() -> list[ProcessSeen]:
        return [each for each in await store.registry.workers() if each.name in (old, new)]

    assert await ours() == [
        ProcessSeen("keeper", old, seen - 50_000),
        ProcessSeen("web", new, seen),
        ProcessSeen("web", old, seen - 50_000),
    ]
    clock.advance(11)
    assert await ours() == [ProcessSeen("web", new, seen)]
    clock.advance(60)
    await store.registry.mark_alive("keeper", old)
    assert await ours() == [ProcessSeen("keeper", old, clock())]
    assert await store.registry.last_alive("web") == seen  # which the keepers go by, however long ago it was


# The audit log


def audited(action: str = "queue.configured", queue: str | None = None, **more: Any) -> AuditedAction:
    return AuditedAction(key="k1", name="Ops – Nacht", role=Role.OPERATOR, action=action, queue=queue, **more)


async def test_an_action_is_kept_as_it_was_done(store: Store, another_store: OpenStore, clock: FakeClock) -> None:
    done = audited(queue="sale", ticket=7, detail={"settings": ["stock"], "stock": None, "ü": 1.5}, request_id="r-1")
    await store.registry.record(done)
    (entry,) = await (await another_store()).registry.audit(None, None, 1)
    assert entry == AuditEntry(entry.id, clock(), done)


async def test_the_audit_log_is_read_newest_first_of_one_queue_or_of_all(store: Store) -> None:
    one, two = (f"q-{secrets.token_hex(6)}" for _ in range(2))
    for number in range(6):
        await store.registry.record(audited(queue=(one, two, None)[number % 3], ticket=number))

    async def pages(queue: str | None, limit: int) -> list[int | None]:
        found: list[int | None] = []
        before = None
        while len(found) < 6 and (page := await store.registry.audit(queue, before, limit)):
            assert len(page) <= limit
            found += [entry.audited.ticket for entry in page]
            before = page[-1].id
        return found

    assert await pages(None, 2) == [5, 4, 3, 2, 1, 0]
    assert await pages(one, 1) == await pages(one, 500) == [3, 0]
    assert await pages(two, 500) == [4, 1]
    assert await pages("q-nobody-made-this", 500) == []


async def test_what_is_no_entry_of_the_audit_log_is_refused(store: Store) -> None:
    for before in ("x", "", "0", "-1", "1-2-3", "9" * 40, "١"):
        with pytest.raises(InvalidRequest, match="before"):
            pytest.fail(f"{before!r} gave {await store.registry.audit(None, before, 10)}")


async def test_the_audit_log_keeps_the_last_of_what_was_done(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (valkey_registry, postgres_registry):
        monkeypatch.setattr(module, "AUDIT_ENTRIES_KEPT", 20)
    for number in range(30):
        await store.registry.record(audited(ticket=number))
    kept = await store.registry.audit(None, None, 500)
    assert [entry.audited.ticket for entry in kept] == [*range(29, 9, -1)]


async def test_one_queue_is_found_far_back_among_many(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(valkey_registry, "SLICE", 3)
    queue = f"q-{secrets.token_hex(6)}"
    for number in range(10):
        await store.registry.record(audited(queue=queue if number in (0, 5) else "other", ticket=number))
    assert [entry.audited.ticket for entry in await store.registry.audit(queue, None, 10)] == [5, 0]
