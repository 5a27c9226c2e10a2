"""The image, started: its Dockerfile done step by step in an empty environment, and with FAIRLINE_LONG=1 built by
buildah on a small Debian. And what the unit of systemd starts, on the same root."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

import fairline
from tests.deploy import built, dockerfile, unit, wheels
from tests.deploy.container import Container, skip_without_namespaces
from tests.deploy.dockerfile import Stage

pytestmark = pytest.mark.timeout(600)  # the first test builds the image
ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def image(tmp_path_factory: pytest.TempPathFactory) -> Stage:
    """What the Dockerfile makes."""
    skip_without_namespaces()
    folder = tmp_path_factory.mktemp("image")
    needed = wheels.pack(folder / "wheels", "fairline", "hatchling")
    return dockerfile.build(ROOT / "Dockerfile", ROOT, folder, needed)


def new_volume(image: Stage, folder: Path) -> Path:
    """A container engine gives a new volume the owner and the mode that the image has there."""
    (name,) = image.volumes
    there = (image.root / name.lstrip("/")).stat()
    folder.mkdir()
    os.chown(folder, there.st_uid, there.st_gid)
    folder.chmod(there.st_mode & 0o777)
    return folder


def check_that_it_serves(running: Container, healthcheck: list[str]) -> str:
    """Join, open the waiting page, and run a command with the key from its data; answers the ticket's token."""
    running.wait_until_healthy(healthcheck)
    status, body = running.ask("POST", "/api/v1/queues/demo/join")
    assert status == 201, body
    status, page = running.ask("GET", "/q/demo")
    assert (status, "<title>" in page) == (200, True)
    listed = running.execute("/opt/fairline/bin/fairline", "queue", "list", "--json")
    assert '"demo"' in listed.stdout, listed.stderr
    return str(json.loads(body)["token"])


def check_that_it_has_no_rights(running: Container, uid: str) -> None:
    """It is that user, with no right of root's, and writes nothing outside its own folder and /tmp."""
    found = running.processes()
    assert {(each["Uid"].split()[0], each["CapEff"].strip("0")) for each in found} == {(uid, "")}
    assert len(found) >= 3, "the supervisor, a worker and the store"
    for folder in ("/", "/opt/fairline", "/etc"):
        assert running.execute("sh", "-c", f"echo x >{folder}/x").returncode != 0, folder


def check_that_it_runs(image: Stage, folder: Path) -> None:
    """It serves, has no rights, ends in order, and has its tickets still when it is started again."""
    volume, log = new_volume(image, folder / "volume"), folder / "log"
    running = image.start(volume, log)
    try:
        token = check_that_it_serves(running, image.healthcheck)
        check_that_it_has_no_rights(running, "10001")
        assert running.ask("GET", "/healthz", host="127.0.0.2")[0] == 200, "a published port would lead nowhere"
        assert running.stop() == 0, log.read_text()
        running = image.start(volume, log)
        running.wait_until_healthy(image.healthcheck)
        status, body = running.ask("GET", "/api/v1/status", token)
        assert status == 200, body
    finally:
        running.kill()


def test_the_image_serves_without_rights_and_keeps_its_tickets_over_a_restart(image: Stage, tmp_path: Path) -> None:
    check_that_it_runs(image, tmp_path)


def test_the_image_says_what_it_is_and_holds_what_it_runs_alone(image: Stage) -> None:
    labels = {name.removeprefix("org.opencontainers.image."): value for name, value in image.labels.items()}
    assert labels["version"] == fairline.__version__
    assert labels["licenses"] == "Apache-2.0"
    assert not (image.root / "build").exists(), "the sources stay in the first stage"
    assert not list((image.root / "opt" / "fairline").rglob("site-packages/pip")), "nothing is installed in there"


def test_the_unit_serves_with_its_settings_under_its_restrictions(image: Stage, tmp_path: Path) -> None:
    state = tmp_path / "state"
    running = unit.start(ROOT / "deploy" / "systemd" / "fairline.service", image.root, state, tmp_path / "log")
    try:
        check_that_it_serves(running, ["/opt/fairline/bin/fairline", "ready"])
        check_that_it_has_no_rights(running, str(unit.UID))
        with pytest.raises(AssertionError, match="ConnectionRefusedError"):
            running.ask("GET", "/healthz", host="127.0.0.2")  # plain HTTP is for a proxy on the same machine
        assert running.stop() == 0, running.log.read_text()
        assert {"secret", "admin-key", "appendonlydir"} <= {path.name for path in state.iterdir()}
    finally:
        running.kill()


@pytest.mark.long
@pytest.mark.timeout(1800)
def test_the_image_that_buildah_builds_serves_likewise(tmp_path: Path) -> None:
    skip_without_namespaces()
    built.skip_without_tools()
    built.skip_without_the_same_python()
    needed = wheels.pack(tmp_path / "wheels", "fairline", "hatchling")
    image = built.build(ROOT, tmp_path, needed)
    check_that_it_runs(image, tmp_path)
