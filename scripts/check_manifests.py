"""Check the Kubernetes manifests of a folder: `python scripts/check_manifests.py deploy/kubernetes`.

Kinds of Kubernetes are checked against its own schemas, strictly, for the oldest and the newest version that is meant.
Kinds of others are checked against the shapes below, which have only what the manifests use. Then comes what no schema
sees: names that have to be the same in two places, and variables that have to be settings.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import kubernetes_validate
import msgspec
import yaml
from msgspec import Struct

from fairline.settings import NAMES

#: The first is the oldest on which all fields are known; the second is the newest that the validator knows.
VERSIONS = ("1.30", kubernetes_validate.latest_version())
KUSTOMIZATION = "kustomization.yaml"
PREFIX = "FAIRLINE_"


class Shape(Struct, rename="camel", forbid_unknown_fields=True, kw_only=True):
    """A part of a resource: a field that it does not have is an error."""


class Metadata(Shape):
    """What every resource is called."""

    name: str
    namespace: str
    labels: dict[str, str] = {}


class Endpoint(Shape):
    """Where Prometheus asks for metrics."""

    port: str
    path: str
    interval: str


class Selector(Shape):
    """Which resources are meant."""

    match_labels: dict[str, str]


class Monitored(Shape):
    """What a ServiceMonitor is about."""

    selector: Selector
    endpoints: list[Endpoint]


class ServiceMonitor(Shape):
    """A kind of the Prometheus operator."""

    api_version: str
    kind: str
    metadata: Metadata
    spec: Monitored


class ForwardAuth(Shape):
    """Whom Traefik asks before it forwards a request."""

    address: str
    auth_response_headers: list[str]
    add_auth_cookies_to_response: list[str]


class SetHeaders(Shape):
    """What Traefik changes in the headers of a request."""

    custom_request_headers: dict[str, str]


class Step(Shape):
    """What a Middleware does: one of these."""

    forward_auth: ForwardAuth | None = None
    headers: SetHeaders | None = None


class Middleware(Shape):
    """A kind of Traefik."""

    api_version: str
    kind: str
    metadata: Metadata
    spec: Step


class Parent(Shape):
    """The Gateway of a route."""

    name: str
    namespace: str


class Backend(Shape):
    """Where a route leads."""

    name: str
    port: int


class Timeouts(Shape):
    """How long a request may take."""

    request: str


class Rule(Shape):
    """One rule of a route."""

    backend_refs: list[Backend]
    timeouts: Timeouts | None = None


class Routed(Shape):
    """What a route is about."""

    parent_refs: list[Parent]
    hostnames: list[str]
    rules: list[Rule]


class HTTPRoute(Shape):
    """A kind of the Gateway API."""

    api_version: str
    kind: str
    metadata: Metadata
    spec: Routed


class Image(Shape):
    """Which image is meant by a name."""

    name: str
    new_name: str
    new_tag: str


class Generator(Shape):
    """A resource that is made from files of variables."""

    name: str
    envs: list[str]


class Kustomization(Shape):
    """What `kubectl apply -k` reads."""

    api_version: str
    kind: str
    namespace: str
    resources: list[str]
    images: list[Image]
    config_map_generator: list[Generator]
    secret_generator: list[Generator]


SHAPES: dict[tuple[str, str], type[Shape]] = {
    ("kustomize.config.k8s.io/v1beta1", "Kustomization"): Kustomization,
    ("monitoring.coreos.com/v1", "ServiceMonitor"): ServiceMonitor,
    ("traefik.io/v1alpha1", "Middleware"): Middleware,
    ("gateway.networking.k8s.io/v1", "HTTPRoute"): HTTPRoute,
}
Resource = dict[str, Any]


def problems(folder: Path, versions: Sequence[str] = VERSIONS) -> Iterator[str]:
    """What is wrong with the manifests of the folder."""
    files = sorted(folder.rglob("*.yaml"))
    if not files:
        yield f"{folder}: there are no manifests"
    resources: list[tuple[str, Resource]] = []
    for file in files:
        name = str(file.relative_to(folder))
        for found in yaml.safe_load_all(file.read_text(encoding="utf-8")):
            if not isinstance(found, dict) or not {"apiVersion", "kind"} <= found.keys():
                yield f"{name}: a document without apiVersion and kind"
                continue
            resources.append((name, found))
            yield from (f"{name}: {found['kind']}: {problem}" for problem in _schema(found, versions))
    yield from _kustomization(folder)
    yield from (f"{name}: {problem}" for name, found in resources for problem in _names(found, resources))
    yield from _variables(folder, resources)


def _schema(found: Resource, versions: Sequence[str]) -> Iterator[str]:
    shape = SHAPES.get((found["apiVersion"], found["kind"]))
    if shape is not None:
        try:
            msgspec.convert(found, shape)
        except msgspec.ValidationError as error:
            yield str(error)
        return
    for version in versions:
        try:
            kubernetes_validate.validate(found, version, strict=True)
        except kubernetes_validate.ValidationError as error:
            where = ".".join(map(str, error.path))
            yield f"{where}: {error.message} (Kubernetes {version})"
        except kubernetes_validate.SchemaNotFoundError:
            yield f"{found['apiVersion']} is not a kind that is known (Kubernetes {version})"


def _kustomization(folder: Path) -> Iterator[str]:
    """Every file beside it is named in it, and what it names is there."""
    file = folder / KUSTOMIZATION
    if not file.is_file():
        yield f"{KUSTOMIZATION} is not there"
        return
    found = yaml.safe_load(file.read_text(encoding="utf-8"))
    named, there = set(found.get("resources", ())), {each.name for each in folder.glob("*.yaml")} - {KUSTOMIZATION}
    yield from (f"{KUSTOMIZATION}: {name} is not there" for name in sorted(named - there))
    yield from (f"{KUSTOMIZATION}: {name} is not named" for name in sorted(there - named))
    for generator in (*found.get("configMapGenerator", ()), *found.get("secretGenerator", ())):
        for name in generator.get("envs", ()):
            if not (folder / name).is_file() and not (folder / f"{name}.example").is_file():
                yield f"{KUSTOMIZATION}: {name} is not there, nor an example of it"


def _names(found: Resource, resources: list[tuple[str, Resource]]) -> Iterator[str]:
    """What a resource refers to by name or label is there."""
    pods = [each["spec"]["template"] for _, each in resources if each["kind"] == "Deployment"]
    of_kind = {kind: [each for _, each in resources if each["kind"] == kind] for kind in ("Service", "Deployment")}
    spec = found.get("spec", {})
    match found["kind"]:
        case "Deployment":
            labels = spec["template"]["metadata"]["labels"].items()
            if not spec["selector"]["matchLabels"].items() <= labels:
                yield "Deployment: the selector is not that of its pods"
            ports = {port["name"] for container in _containers(found) for port in container.get("ports", ())}
            for container in _containers(found):
                for probe in ("startupProbe", "livenessProbe", "readinessProbe"):
                    how = container.get(probe, {})
                    port = (how.get("httpGet") or how.get("tcpSocket") or {}).get("port")
                    if port is not None and port not in ports:
                        yield f"Deployment: {probe}: there is no port {port}"
                volumes = {volume["name"] for volume in spec["template"]["spec"].get("volumes", ())}
                for name in sorted(volumes ^ {mount["name"] for mount in container.get("volumeMounts", ())}):
                    yield f"Deployment: the volume {name} is not both there and mounted"
        case "Service":
            behind = [pod for pod in pods if spec["selector"].items() <= pod["metadata"]["labels"].items()]
            names = {p["name"] for pod in behind for c in pod["spec"]["containers"] for p in c.get("ports", ())}
            for port in spec["ports"]:
                if port["targetPort"] not in names:
                    yield f"Service: no pod behind it has the port {port['targetPort']}"
        case "PodDisruptionBudget" | "NetworkPolicy":
            selector = (spec.get("selector") or spec.get("podSelector"))["matchLabels"]
            if not any(selector.items() <= pod["metadata"]["labels"].items() for pod in pods):
                yield f"{found['kind']}: no pod has the labels {selector}"
        case "HorizontalPodAutoscaler":
            target = spec["scaleTargetRef"]["name"]
            if target not in {each["metadata"]["name"] for each in of_kind["Deployment"]}:
                yield f"HorizontalPodAutoscaler: there is no Deployment {target}"
            if any(each["metadata"]["name"] == target and "replicas" in each["spec"] for each in of_kind["Deployment"]):
                yield f"HorizontalPodAutoscaler: {target} says replicas too, and each `kubectl apply` would win"
        case "ServiceMonitor":
            labels = spec["selector"]["matchLabels"].items()
            seen = [each for each in of_kind["Service"] if labels <= each["metadata"].get("labels", {}).items()]
            names = {port["name"] for each in seen for port in each["spec"]["ports"]}
            for endpoint in spec["endpoints"]:
                if endpoint["port"] not in names:
                    yield f"ServiceMonitor: no Service that it selects has the port {endpoint['port']}"


def _containers(deployment: Resource) -> list[Resource]:
    found: list[Resource] = deployment["spec"]["template"]["spec"]["containers"]
    return found


def _variables(folder: Path, resources: list[tuple[str, Resource]]) -> Iterator[str]:
    """Every FAIRLINE_* variable is a setting of the server."""
    given = [
        (name, each["name"])
        for name, found in resources
        if found["kind"] == "Deployment"
        for container in _containers(found)
        for each in container.get("env", ())
    ]
    for file in sorted(folder.glob("*.env*")):
        lines = [line for line in file.read_text(encoding="utf-8").splitlines() if line and not line.startswith("#")]
        given += [(file.name, line.partition("=")[0]) for line in lines]
    for name, variable in given:
        if variable.startswith(PREFIX) and variable.removeprefix(PREFIX).lower() not in NAMES:
            yield f"{name}: {variable} is not a setting"


def main() -> int:
    """Print what is wrong; 1 if there is something."""
    found = list(problems(Path(sys.argv[1])))
    for problem in found:
        print(problem, file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
