"""The files that Fairline is deployed with: they say what the documentation promises of them, and a mistake in one is
found."""

from __future__ import annotations

import re
import shutil
import subprocess
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
import yaml

from fairline.settings import ServerSettings
from fairline.store.valkey.embedded import find_server
from tests.backends import HOST, Node
from tests.cli.typed import fairline

ROOT = Path(__file__).parents[2]
COMPOSE = ROOT / "deploy" / "compose"
FILES = sorted(COMPOSE.glob("*.yaml"))

#: What is replaced, where, by what, and what is said of it.
MISTAKES = [
    ("Dockerfile", "WORKDIR /build", "WORKDIR build", "DL3000"),
    ("Dockerfile", "STOPSIGNAL SIGTERM", "STOPSINGAL SIGTERM", "Dockerfile"),
    ("deploy/compose/compose.yaml", "read_only: true", "readonly: true", "readonly"),
    ("deploy/compose/compose.postgres.yaml", "interval: 5s", "intervall: 5s", "intervall"),
    ("deploy/systemd/fairline.service", "ProtectSystem=", "ProtectSytem=", "ProtectSytem"),
    ("deploy/systemd/fairline.service", "SystemCallFilter=", "#", "exposure level"),
]


def compose(file: Path) -> dict[str, Any]:
    found = yaml.safe_load(file.read_text(encoding="utf-8"))
    assert isinstance(found, dict)
    return found


def test_mistakes_in_them_are_found(tmp_path: Path) -> None:
    check = ROOT / "scripts" / "check-deploy"
    for name, right, wrong, said in MISTAKES:
        if name.endswith(".service") and not shutil.which("systemd-analyze"):
            continue
        folder = tmp_path / str(MISTAKES.index((name, right, wrong, said)))
        shutil.copytree(ROOT / "deploy", folder / "deploy")
        shutil.copy(ROOT / "Dockerfile", folder)
        text = (folder / name).read_text(encoding="utf-8")
        assert right in text, f"{name} has no {right}"
        (folder / name).write_text(text.replace(right, wrong), encoding="utf-8")
        ran = subprocess.run([check, folder], capture_output=True, text=True, check=False, timeout=60)
        assert ran.returncode == 1, f"{name} with {wrong} for {right} passes"
        assert said in ran.stdout + ran.stderr, f"{name} with {wrong}: {ran.stdout}{ran.stderr}"


def test_a_linter_that_is_missing_is_an_error_that_names_it(tmp_path: Path) -> None:
    """In a checkout without .venv."""
    shutil.copytree(ROOT / "deploy", tmp_path / "deploy")
    shutil.copytree(ROOT / "scripts", tmp_path / "scripts")
    shutil.copy(ROOT / "Dockerfile", tmp_path)
    check = tmp_path / "scripts" / "check-deploy"
    ran = subprocess.run(
        [check], env={"PATH": "/usr/bin:/bin"}, capture_output=True, text=True, check=False, timeout=60
    )
    assert ran.returncode == 1
    assert "hadolint is not there. Run 'make setup'." in ran.stderr


@pytest.mark.parametrize("file", FILES, ids=lambda file: str(file.name))
def test_each_service_can_do_no_more_than_it_has_to(file: Path) -> None:
    for name, service in compose(file)["services"].items():
        assert service["read_only"] is True, name
        assert service["cap_drop"] == ["ALL"], name
        assert service["security_opt"] == ["no-new-privileges:true"], name
        assert int(service["stop_grace_period"].removesuffix("s")) >= 30, name
        if name == "fairline":
            assert all(port.startswith("127.0.0.1:") for port in service["ports"]), "open to the world without TLS"
            assert {each["condition"] for each in service["depends_on"].values()} == {"service_healthy"}
        else:
            assert service["user"] not in ("", "root"), name
            assert service["networks"] == ["store"], name
            assert service["healthcheck"], name
    assert compose(file)["networks"]["store"]["internal"] is True


@pytest.mark.parametrize("file", FILES, ids=lambda file: str(file.name))
def test_no_secret_is_in_a_compose_file_and_none_may_be_missing(file: Path) -> None:
    text = file.read_text(encoding="utf-8")
    example = (COMPOSE / ".env.example").read_text(encoding="utf-8")
    assert set(re.findall(r"\$\{(\w+)", text)) <= set(re.findall(r"^(\w+)=$", example, re.MULTILINE))
    for name, value in compose(file)["services"]["fairline"]["environment"].items():
        if name.startswith("FAIRLINE_"):
            assert name.removeprefix("FAIRLINE_").lower() in ServerSettings.__struct_fields__
        if re.search("SECRET|KEY|PASSWORD", name):
            assert re.fullmatch(r"\$\{\w+:\?[^}]+\}", value), f"{name} may be missing"


def test_the_valkey_of_compose_is_set_so_that_the_doctor_has_nothing_to_say_of_it(tmp_path: Path) -> None:
    words = compose(COMPOSE / "compose.yaml")["services"]["valkey"]["command"].split()
    settings = dict(zip(words[1::2], words[2::2], strict=True))
    with ExitStack() as ending:
        node = Node(tmp_path / "valkey", find_server(), ending=ending)
        bare = fairline("doctor", "--store", f"valkey://{HOST}:{node.port}/0", "--data", str(tmp_path / "data"))
        assert "appendfsync" in bare.stdout, bare.stdout
        for name, value in settings.items():
            node.ask("CONFIG", "SET", name.removeprefix("--"), value)
        told = fairline("doctor", "--store", f"valkey://{HOST}:{node.port}/0", "--data", str(tmp_path / "data"))
    assert "answers" in told.stdout
    assert not re.search("append|maxmemory", told.stdout), told.stdout


def test_what_the_image_is_built_from_is_not_left_out_by_dockerignore() -> None:
    let_in = re.findall(r"^!(\S+)$", (ROOT / ".dockerignore").read_text(encoding="utf-8"), re.MULTILINE)
    copied = re.findall(r"^COPY (?!--from)(.*) \S+$", (ROOT / "Dockerfile").read_text(encoding="utf-8"), re.MULTILINE)
    assert {name for line in copied for name in line.split()} == set(let_in)
