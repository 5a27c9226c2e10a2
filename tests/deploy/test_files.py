"""The files that Fairline is deployed with: they say what the documentation promises of them, and a mistake in one is
found."""

from __future__ import annotations

import re
import shutil
import subprocess
from contextlib import ExitStack
from pathlib import Path
from textwrap import indent
from typing import Any

import pytest
import yaml

from fairline.process.worker_settings import GRACE_SECONDS
from fairline.settings import ServerSettings
from fairline.store.valkey.embedded import find_server
from scripts.check_manifests import VERSIONS, problems
from tests.backends import HOST, Node
from tests.cli.typed import fairline
from tests.site.proxies import documented

ROOT = Path(__file__).parents[2]
COMPOSE = ROOT / "deploy" / "compose"
FILES = sorted(COMPOSE.glob("*.yaml"))
KUBERNETES = ROOT / "deploy" / "kubernetes"

#: What is replaced, where, by what, and what is said of it.
MISTAKES = [
    ("Dockerfile", "WORKDIR /build", "WORKDIR build", "DL3000"),
    ("Dockerfile", "STOPSIGNAL SIGTERM", "STOPSINGAL SIGTERM", "Dockerfile"),
    ("deploy/compose/compose.yaml", "read_only: true", "readonly: true", "readonly"),
    ("deploy/compose/compose.postgres.yaml", "interval: 5s", "intervall: 5s", "intervall"),
    ("deploy/kubernetes/web.yaml", "readOnlyRootFilesystem:", "readonlyRootFilesystem:", "readonlyRootFilesystem"),
    ("deploy/systemd/fairline.service", "ProtectSystem=", "ProtectSytem=", "ProtectSytem"),
    ("deploy/systemd/fairline.service", "SystemCallFilter=", "#", "exposure level"),
]

#: The same for the manifests alone.
MISTAKES_IN_MANIFESTS = [
    ("web.yaml", "periodSeconds: 2\n", "periodSeconds: 2s\n", "startupProbe.periodSeconds"),
    ("web.yaml", "port: http}\n            periodSeconds: 5", "port: web}", "there is no port web"),
    ("web.yaml", "FAIRLINE_WORKERS", "FAIRLINE_WORKER", "FAIRLINE_WORKER is not a setting"),
    (
        "web.yaml",
        "  selector:\n    match",
        "  replicas: 3\n  selector:\n    match",
        "says replicas too",
    ),
    ("web.yaml", "{name: tmp, mountPath", "{name: temp, mountPath", "the volume temp is not both"),
    ("keeper.yaml", "apps/v1", "apps/v2", "apps/v2 is not a kind that is known"),
    ("service.yaml", "targetPort: http", "targetPort: 8000", "no pod behind it has the port 8000"),
    ("disruption.yaml", "component: keeper", "component: keper", "no pod has the labels"),
    (
        "autoscaling.yaml",
        "kind: Deployment, name: fairline-web",
        "name: web, kind: x",
        "no Deployment",
    ),
    ("network.yaml", "- {protocol: UDP,", "- {protokol: UDP,", "protokol"),
    ("kustomization.yaml", "  - service.yaml\n", "", "service.yaml is not named"),
    ("kustomization.yaml", "newTag", "newtag", "newtag"),
    ("settings.env", "TRUSTED_PROXIES", "TRUSTED_PROXY", "FAIRLINE_TRUSTED_PROXY is not a setting"),
    (
        "secrets.env.example",
        "FAIRLINE_STORE=",
        "FAIRLINE_STORES=",
        "FAIRLINE_STORES is not a setting",
    ),
    ("monitoring/service-monitor.yaml", "port: http", "port: metrics", "has the port metrics"),
    ("monitoring/service-monitor.yaml", "interval:", "intervall:", "intervall"),
    ("ingress/nginx.yaml", "pathType: Prefix", "pathTyp: Prefix", "pathTyp"),
    ("ingress/traefik.yaml", "addAuthCookiesToResponse", "addAuthCookies", "addAuthCookies"),
    ("ingress/envoy-gateway.yaml", "timeouts:", "timeout:", "timeout"),
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
        assert ran.returncode == 1, f"{name} with {wrong!r} for {right!r} passes"
        assert said in ran.stdout + ran.stderr, f"{name} with {wrong}: {ran.stdout}{ran.stderr}"


def test_mistakes_in_the_manifests_are_found(tmp_path: Path) -> None:
    assert list(problems(KUBERNETES)) == []
    for number, (name, right, wrong, said) in enumerate(MISTAKES_IN_MANIFESTS):
        folder = tmp_path / str(number)
        shutil.copytree(KUBERNETES, folder)
        text = (folder / name).read_text(encoding="utf-8")
        assert right in text, f"{name} has no {right!r}"
        (folder / name).write_text(text.replace(right, wrong), encoding="utf-8")
        assert said in "\n".join(problems(folder, VERSIONS[:1])), f"{name} with {wrong!r} for {right!r} passes"


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


def deployments() -> dict[str, dict[str, Any]]:
    """The pods of each Deployment."""
    found = [
        each for file in sorted(KUBERNETES.rglob("*.yaml")) for each in yaml.safe_load_all(file.read_text("utf-8"))
    ]
    return {
        each["metadata"]["name"]: each["spec"]["template"]["spec"] for each in found if each["kind"] == "Deployment"
    }


def test_each_pod_can_do_no_more_than_it_has_to_and_ends_in_its_own_time() -> None:
    assert set(deployments()) == {"fairline-web", "fairline-keeper", "gate"}
    for name, pod in deployments().items():
        assert pod["automountServiceAccountToken"] is False, name
        # With the links a Service called fairline would set FAIRLINE_PORT to something that is no port.
        assert pod["enableServiceLinks"] is False, name
        assert pod["securityContext"]["runAsNonRoot"] is True, name
        assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}, name
        (container,) = pod["containers"]
        assert container["securityContext"] == {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        }, name
        assert container["resources"]["requests"].keys() == {"cpu", "memory"}, name
        assert container["resources"]["limits"].keys() == {"memory"}, f"{name}: a limit of cpu slows it in a rush"
        pause = container.get("lifecycle", {}).get("preStop", {}).get("exec", {}).get("command", ["", "0"])[1]
        assert pod["terminationGracePeriodSeconds"] >= int(pause) + GRACE_SECONDS + 5 + 10, name
        if name.startswith("fairline-"):
            assert pod["securityContext"]["runAsUser"] == 10001, "not the user of the image"
            assert {source.popitem()[1]["name"] for source in container["envFrom"]} == {
                "fairline-settings",
                "fairline-secrets",
            }, name
            places = {mount["mountPath"] for mount in container["volumeMounts"]}
            assert places == {"/data", "/tmp", "/dev/shm"}, name  # what a server writes to, on a root that is read-only


def test_no_secret_is_in_the_manifests_and_each_has_its_place_in_the_example() -> None:
    text = (KUBERNETES / "secrets.env.example").read_text(encoding="utf-8")
    assert re.findall(r"^(\w+)=(.*)$", text, re.MULTILINE) == [
        ("FAIRLINE_SECRET", ""),
        ("FAIRLINE_ADMIN_KEY", ""),
        ("FAIRLINE_STORE", ""),
    ]
    told = (KUBERNETES / "settings.env").read_text(encoding="utf-8")
    assert not re.search(r"SECRET|KEY|PASSWORD|FAIRLINE_STORE", told)
    ignored = (ROOT / ".gitignore").read_text(encoding="utf-8").splitlines()
    assert "/deploy/kubernetes/secrets.env" in ignored


def test_the_nginx_in_front_of_a_site_does_what_the_documented_one_does() -> None:
    """The documented one is run by the tests of a site: here only addresses differ, and who speaks TLS."""
    (config,) = [
        each["data"]["nginx.conf"]
        for each in yaml.safe_load_all((KUBERNETES / "ingress" / "gate.yaml").read_text(encoding="utf-8"))
        if each["kind"] == "ConfigMap"
    ]
    for here, there in (
        ("server shop:80;", "server 127.0.0.1:8090;"),
        ("server fairline.fairline.svc.cluster.local:80;", "server 127.0.0.1:8080;"),
        ("listen 8000;", "listen 127.0.0.1:8000;"),
        ("$http_x_forwarded_proto", "$scheme"),
    ):
        assert here in config
        config = config.replace(here, there)
    assert indent(documented("protect-a-site-with-nginx.md", "nginx"), "    ") in config


@pytest.mark.skipif(not shutil.which("nginx", path="/usr/sbin:/usr/bin"), reason="nginx is not there")
def test_nginx_takes_the_configuration_of_the_gate(tmp_path: Path) -> None:
    (config,) = [
        each["data"]["nginx.conf"]
        for each in yaml.safe_load_all((KUBERNETES / "ingress" / "gate.yaml").read_text(encoding="utf-8"))
        if each["kind"] == "ConfigMap"
    ]
    file = tmp_path / "nginx.conf"
    config = config.replace("server shop:", f"server {HOST}:").replace("fairline.fairline.svc.cluster.local", HOST)
    file.write_text(config.replace("/tmp/", f"{tmp_path}/"), encoding="utf-8")
    tried = ["nginx", "-t", "-e", str(tmp_path / "error.log"), "-c", str(file)]
    ran = subprocess.run(
        tried, env={"PATH": "/usr/sbin:/usr/bin"}, capture_output=True, text=True, check=False, timeout=60
    )
    assert ran.returncode == 0, ran.stderr


def test_what_the_image_is_built_from_is_not_left_out_by_dockerignore() -> None:
    let_in = re.findall(r"^!(\S+)$", (ROOT / ".dockerignore").read_text(encoding="utf-8"), re.MULTILINE)
    copied = re.findall(r"^COPY (?!--from)(.*) \S+$", (ROOT / "Dockerfile").read_text(encoding="utf-8"), re.MULTILINE)
    assert {name for line in copied for name in line.split()} == set(let_in)
