"""A secret or an admin key that can be guessed is refused, wherever it comes from."""

from __future__ import annotations

from pathlib import Path

import httpx

from fairline.domain.tokens import Keyring
from fairline.service.admin_keys import AdminKeys
from fairline.service.fairline import Fairline
from fairline.settings import MIN_SECRET_LENGTH
from fairline.store import Role, Store
from tests.cli.typed import fairline
from tests.web.running import RunningServer

#: Blanks make no secret longer.
WEAK = {"three letters": "abc", "one too few": "fifteen-letters", "three letters and blanks": f"abc{' ' * 30}"}
GOOD = "sixteen--letters"


def test_no_server_starts_with_one_by_whichever_way_it_is_given(tmp_path: Path) -> None:
    serve = ("serve", "--port", "0", "--store", "valkey://127.0.0.1:9", "--data", str(tmp_path / "data"))
    for what, weak in WEAK.items():
        for name in ("secret", "admin_key"):
            told = f"{name}: has {len(weak.strip())} characters in"
            by_variable = fairline(*serve, **{f"FAIRLINE_{name.upper()}": weak})
            assert told in by_variable.stderr, (what, name)
            for suffix, assigned in ((".toml", f'{name} = "{weak}"'), (".yaml", f'{name}: "{weak}"')):
                file = (tmp_path / "given").with_suffix(suffix)
                file.write_text(assigned, encoding="utf-8")
                by_file = fairline(*serve, "--config", str(file))
                assert told in by_file.stderr, (what, name, suffix)
                assert {by_variable.returncode, by_file.returncode} == {1}
    assert not (tmp_path / "data").exists()
    keeper = fairline(*serve, "--role", "keeper", FAIRLINE_SECRET="abc")
    assert "secret: has 3 characters in FAIRLINE_SECRET" in keeper.stderr


def test_no_server_starts_with_one_that_is_kept_in_its_folder(tmp_path: Path) -> None:
    for name, setting in (("secret", "secret"), ("admin-key", "admin_key")):
        data = tmp_path / name
        data.mkdir(mode=0o700)
        (data / name).write_text("abc\n", encoding="utf-8")
        done = fairline("serve", "--port", "0", "--data", str(data))
        assert done.returncode == 1, name
        assert f"{setting}: has 3 characters in {data / name}" in " ".join(done.stderr.split())


def test_the_doctor_finds_one_by_whichever_way_it_is_given(tmp_path: Path) -> None:
    for name in ("secret", "admin_key"):
        found = fairline("doctor", "--data", str(tmp_path / "data"), **{f"FAIRLINE_{name.upper()}": "abc"})
        assert found.returncode == 1, name
        assert "only 3 characters long" in found.stdout, name
        file = tmp_path / "fairline.toml"
        file.write_text(f'{name} = "abc"', encoding="utf-8")
        found = fairline("doctor", "--data", str(tmp_path / "data"), "--config", str(file))
        assert found.returncode == 1, name
        assert "only 3 characters long" in found.stdout, name
    kept = tmp_path / "kept"
    kept.mkdir(mode=0o700)
    (kept / "secret").write_text("abc\n", encoding="utf-8")
    found = fairline("doctor", "--data", str(kept))
    assert found.returncode == 1
    assert "has 3 characters" in found.stdout


def test_keys_that_are_made_are_long_and_nobody_chooses_one(server: RunningServer, operator: httpx.Client) -> None:
    for body in ({"key": "abc"}, {"text": "abc"}, {"id": "abc"}):
        assert operator.post("/api/v1/admin/keys", json={"role": "admin", **body}).status_code == 422, body
    made = operator.post("/api/v1/admin/keys", json={"role": "viewer"}).json()["key"]
    said = fairline("keys", "create", FAIRLINE_URL=server.base_url, FAIRLINE_DATA=str(server.data))
    for key in (made, said.stdout.splitlines()[0]):
        assert len(key) >= 2 * MIN_SECRET_LENGTH
        headers = {"authorization": f"Bearer {key}"}
        assert httpx.get(f"{server.base_url}/api/v1/admin/session", headers=headers).status_code == 200


async def test_one_that_an_earlier_version_put_into_the_store_opens_nothing(store: Store) -> None:
    keys = AdminKeys(Fairline(store, Keyring(b"a secret that all workers share.")))
    for text in (*WEAK.values(), GOOD):
        await keys.create(Role.ADMIN, "from before", text)
    found = await keys.of_text(GOOD)
    assert found is not None
    assert found.role is Role.ADMIN
    for what, weak in WEAK.items():
        assert await keys.of_text(weak) is None, what
