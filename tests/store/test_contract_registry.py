"""What belongs to the server rather than to a queue: admin keys, generations of signing keys, who is alive."""

from __future__ import annotations

import asyncio
import secrets

import pytest

from fairline.store import AdminKey, Role, Store
from tests.backends import FakeClock
from tests.conftest import OpenStore


def new_key(role: Role = Role.ADMIN, created: int = 1, name: str = "Ops – Nacht") -> AdminKey:
    return AdminKey(id=secrets.token_hex(8), role=role, name=name, digest=secrets.token_hex(16), created=created)


@pytest.mark.parametrize("role", Role)
async def test_an_admin_key_is_kept_as_it_was_given(store: Store, another_store: OpenStore, role: Role) -> None:
    key = new_key(role)
    assert await store.registry.admin_key(key.id) is None
    await store.registry.put_admin_key(key)
    other = await another_store()
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
    await store.registry.mark_alive("web")
    clock.advance(30)
    await store.registry.mark_alive("keeper")
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


async def test_what_would_hurt_is_said_with_what_to_do(store: Store) -> None:
    cautions = await store.registry.warnings()
    assert cautions  # the servers of the tests are set up for speed
    assert all(caution.what in caution.found and caution.advice for caution in cautions)
