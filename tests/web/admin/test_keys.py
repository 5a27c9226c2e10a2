"""Priority passes and admin keys."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import httpx
import pytest

from fairline.errors import InvalidSettings, LastAdminKey
from fairline.process.supervisor import Supervisor
from fairline.service.admin_keys import AdminKeys
from fairline.settings import ServerSettings
from fairline.store import AdminKey, Role
from tests.web.admin.desk import (
    Join,
    client_of_each_worker,
    moment,
    public_status,
)
from tests.web.running import RunningServer


def test_a_pass_gives_priority_as_often_as_it_says(
    admin: httpx.Client, queue: str, join: Join, server: RunningServer
) -> None:
    for _ in range(10):
        join(queue)
    issued = admin.post(f"/queues/{queue}/passes", json={"level": 3, "uses": 2, "expires_in_seconds": 600})
    assert issued.status_code == 201
    made = issued.json()
    assert (made["level"], made["uses"], made["used"]) == (3, 2, 0)
    first = join(queue, priority_pass=made["pass"])
    assert (first["priority"], first["position"]) == (3, 1)
    (listed,) = admin.get(f"/queues/{queue}/passes").json()["passes"]
    assert (listed["id"], listed["used"]) == (made["id"], 1)
    assert "pass" not in listed
    assert abs(moment(listed["expires_at"]) - moment(made["expires_at"])) < timedelta(seconds=2)
    join(queue, priority_pass=made["pass"])
    url = f"{server.base_url}/api/v1/queues/{queue}/join"
    assert httpx.post(url, json={"priority_pass": made["pass"]}).json()["code"] == "pass_invalid"


def test_a_withdrawn_pass_is_of_no_use(admin: httpx.Client, queue: str, server: RunningServer) -> None:
    made = admin.post(f"/queues/{queue}/passes", json={"level": 1}).json()
    path = f"/queues/{queue}/passes/{made['id']}"
    assert admin.delete(path).status_code == 204
    url = f"{server.base_url}/api/v1/queues/{queue}/join"
    assert httpx.post(url, json={"priority_pass": made["pass"]}).status_code == 403
    assert admin.get(f"/queues/{queue}/passes").json() == {"passes": []}
    again = admin.delete(path)
    assert (again.status_code, again.json()["code"]) == (404, "pass_not_found")


def test_a_key_is_shown_once(admin: httpx.Client) -> None:
    answer = admin.post("/keys", json={"role": "operator", "name": "Till 3"})
    assert answer.status_code == 201
    made = answer.json()
    listed = admin.get("/keys")
    (found,) = (key for key in listed.json()["keys"] if key["id"] == made["id"])
    assert found == {name: made[name] for name in ("id", "role", "name", "created_at")}
    assert (found["role"], found["name"]) == ("operator", "Till 3")
    assert made["key"] not in listed.text
    assert "digest" not in listed.text


def test_a_removed_key_is_refused_on_the_next_call_to_any_worker(server: RunningServer, admin: httpx.Client) -> None:
    made = admin.post("/keys", json={"role": "viewer"}).json()
    desks = client_of_each_worker(server, made["key"])
    assert [desk.get("/queues").status_code for desk in desks] == [200, 200]
    assert admin.delete(f"/keys/{made['id']}").status_code == 204
    assert [desk.get("/queues").json()["code"] for desk in desks] == ["key_invalid", "key_invalid"]
    again = admin.delete(f"/keys/{made['id']}")
    assert (again.status_code, again.json()["code"]) == (404, "key_not_found")
    for desk in desks:
        desk.close()


def test_the_last_admin_key_cannot_be_removed(server: RunningServer, admin: httpx.Client) -> None:
    admins = {key["id"]: key for key in admin.get("/keys").json()["keys"] if key["role"] == "admin"}
    (first,) = (key_id for key_id, key in admins.items() if key["name"] == "first key")
    for key_id in admins.keys() - {first}:
        assert admin.delete(f"/keys/{key_id}").status_code == 204
    answer = admin.delete(f"/keys/{first}")
    assert (answer.status_code, answer.json()["code"]) == (409, "last_admin_key")
    assert "Create another" in answer.json()["detail"]
    assert admin.get("/keys").status_code == 200


def test_signing_keys_are_rotated_and_tokens_stay_good(
    admin: httpx.Client, queue: str, join: Join, server: RunningServer
) -> None:
    token = join(queue)["token"]
    answer = admin.post("/keys/rotate")
    assert answer.status_code == 200
    assert answer.json()["generation"] >= 2
    assert public_status(server, token).status_code == 200
    again = admin.post("/keys/rotate")  # some workers may sign with the keys before for seconds yet
    assert (again.status_code, again.json()["code"]) == (429, "rate_limited")
    assert 0 < int(again.headers["retry-after"]) <= 10
    assert public_status(server, join(queue)["token"]).status_code == 200


class Registry:
    """Keeps keys, and lets others have a turn before every answer."""

    def __init__(self) -> None:
        self.kept: dict[str, AdminKey] = {}

    async def admin_keys(self) -> list[AdminKey]:
        await asyncio.sleep(0)
        return [*self.kept.values()]

    async def admin_key(self, key_id: str) -> AdminKey | None:
        await asyncio.sleep(0)
        return self.kept.get(key_id)

    async def put_admin_key(self, key: AdminKey) -> None:
        await asyncio.sleep(0)
        self.kept[key.id] = key

    async def remove_admin_key(self, key_id: str) -> bool:
        await asyncio.sleep(0)
        return self.kept.pop(key_id, None) is not None

    @property
    def registry(self) -> Registry:
        """It is its own store."""
        return self

    async def time(self) -> int:
        return 0


def keys_over(registry: Registry) -> AdminKeys:
    return AdminKeys(cast(Any, SimpleNamespace(store=registry, keyring=SimpleNamespace(digest_key=b""))))


async def test_two_admins_who_remove_each_other_at_once_do_not_lock_everyone_out() -> None:
    registry = Registry()
    keys = keys_over(registry)
    one, _ = await keys.create(Role.ADMIN, "one")
    two, _ = await keys.create(Role.ADMIN, "two")
    outcomes = await asyncio.gather(keys.remove(one.id), keys.remove(two.id), return_exceptions=True)
    assert registry.kept
    assert any(isinstance(outcome, LastAdminKey) for outcome in outcomes)


async def test_a_first_key_that_was_removed_stays_away_when_the_server_starts_again(tmp_path: Path) -> None:
    registry = Registry()
    keys = keys_over(registry)
    supervisor = Supervisor(ServerSettings(data=tmp_path))
    assert await supervisor._make_first_key(keys)
    (first,) = registry.kept
    second, _ = await keys.create(Role.ADMIN, "second")
    await keys.remove(first)
    assert await supervisor._make_first_key(keys) is None
    assert registry.kept.keys() == {second.id}
    registry.kept.clear()  # another store, with the data folder of before
    assert await supervisor._make_first_key(keys) is None
    assert registry.kept.keys() == {first}


async def test_a_first_key_that_nobody_knows_is_never_made(tmp_path: Path) -> None:
    (tmp_path / "admin-key").touch(0o600)
    registry = Registry()
    keys = keys_over(registry)
    supervisor = Supervisor(ServerSettings(data=tmp_path))
    with pytest.raises(InvalidSettings, match="admin_key: has 0 characters"):
        await supervisor._make_first_key(keys)
    assert not registry.kept
    await keys.create(Role.ADMIN, "another")  # with which the file is of no use
    assert await supervisor._make_first_key(keys) is None
