"""`fairline doctor`: checks the set-up for problems, and says how to fix them."""

from __future__ import annotations

import contextlib
import json
import os
import stat
from collections.abc import Iterator
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated

import typer
from rich.markup import escape
from rich.table import Table

from fairline.cli.doctor_servers import Finding, look_into
from fairline.cli.show import console
from fairline.errors import (
    FairlineError,
    InvalidSettings,
    ServiceFailed,
    StoreError,
    StoreFolderInUse,
    StoreFolderUnfit,
)
from fairline.process.secrets import ADMIN_KEY, SECRET, read_secret
from fairline.process.sockets import Listening
from fairline.settings import (
    MIN_SECRET_LENGTH,
    BeaconKind,
    ServerRole,
    ServerSettings,
    check_beacon,
    load,
    unknown_variables,
)
from fairline.store import EMBEDDED, check_folder, embedded_server, open_store, store_left_behind
from fairline.store.machine import FILES_WANTED, open_files

MARKS = {"ok": "[green]ok[/]", "warn": "[yellow]warn[/]", "bad": "[red]fix[/]"}


def doctor(
    store: Annotated[str | None, typer.Option(help="The store to check. (default: as 'fairline serve')")] = None,
    data: Annotated[Path | None, typer.Option(help="The data folder. (default: as 'fairline serve')")] = None,
    config: Annotated[Path | None, typer.Option(help="A TOML or YAML file.")] = None,
) -> None:
    """Check the store, the clock, file limits, secrets, the port and the beacon, and say what to fix."""
    import asyncio  # loading it takes as long as many a command runs

    settings = load(file=config, flags={"store": store, "data": data})
    folder = _folder(settings)
    findings = [*_machine(settings), *_secrets(settings), folder]
    if settings.beacon is not BeaconKind.OFF:
        findings.append(asyncio.run(_beacon(settings)))
    if settings.store in EMBEDDED and folder.state == "bad":
        findings.append(Finding("store", "warn", "not checked", "Fix the data folder first: the store is in it."))
    else:
        findings += _store_left_behind(settings)
        findings += asyncio.run(_store(settings))
    table = Table(box=None, show_header=False, padding=(0, 2, 0, 0))
    for finding in findings:
        advice = f"\n[dim]{escape(finding.advice)}[/]" if finding.advice else ""
        table.add_row(MARKS[finding.state], finding.what, escape(finding.found) + advice)
    console.print(table)
    bad = sum(finding.state == "bad" for finding in findings)
    if bad:
        console.print(f"\n[red]{bad} to fix[/] before you open.")
        raise typer.Exit(1)
    console.print("\nReady.")


def _machine(settings: ServerSettings) -> Iterator[Finding]:
    soft, hard = open_files()
    if soft >= FILES_WANTED:
        yield Finding("open files", "ok", f"{soft:,} per process")
    else:
        advice = f"Each worker holds a stream per person. Raise the limit: ulimit -n {min(hard, 65_536)}"
        yield Finding("open files", "warn", f"{soft:,} per process", advice)
    yield _port(settings)
    for warning in unknown_variables():
        yield Finding("variables", "warn", warning)
    if settings.public_url:
        yield Finding("public address", "ok", settings.public_url)
    else:
        advice = "A gate in front of a site needs it to send people to the waiting page. Set FAIRLINE_PUBLIC_URL."
        yield Finding("public address", "warn", "not set", advice)
    cores = os.cpu_count() or 1
    state = "ok" if settings.workers <= 2 * cores else "warn"
    yield Finding(
        "workers",
        state,
        f"{settings.workers} on {cores} cores",
        "" if state == "ok" else "More than two per core do not help.",
    )


def _secrets(settings: ServerSettings) -> Iterator[Finding]:
    for name, given in (("secret", settings.secret), ("admin key", settings.admin_key)):
        if given and len(given.strip()) < MIN_SECRET_LENGTH:
            advice = f"The server needs at least {MIN_SECRET_LENGTH} to start. Create a good one: openssl rand -hex 32"
            yield Finding(name, "bad", f"only {len(given.strip())} characters long", advice)
    if settings.secret:
        if len(settings.secret.strip()) >= MIN_SECRET_LENGTH:
            yield Finding("secret", "ok", "from the settings")
    elif settings.store not in EMBEDDED:
        advice = "Each machine generates its own and refuses the others' tokens. Set the same FAIRLINE_SECRET on all."
        yield Finding("secret", "warn", "generated on this machine", advice)
    else:
        yield Finding("secret", "ok", "generated, in the data folder")
    # A damaged admin key file is only a warning: the server starts if it has another key.
    for name, given, state in ((SECRET, settings.secret, "bad"), (ADMIN_KEY, settings.admin_key, "warn")):
        path = settings.data / name
        if not given and os.path.lexists(path):
            try:
                read_secret(settings.data, name)
            except InvalidSettings as error:
                yield Finding(f"file {name}", state, error.problem)
        if os.access(path, os.F_OK) and path.is_file() and stat.S_IMODE(path.stat().st_mode) & 0o077:
            yield Finding(f"file {name}", "bad", f"others can read {path}", f"chmod 600 {path}")


def _port(settings: ServerSettings) -> Finding:
    """Whether `fairline serve` could listen: it tries to, in the same way."""
    if settings.role is ServerRole.KEEPER:
        return Finding("port", "ok", "not needed by a keeper")
    where = f"{settings.host}:{settings.port}"
    try:
        Listening(settings.host, settings.port, 1).close()
        return Finding("port", "ok", f"{where} is free")
    except InvalidSettings as error:
        if _is_fairline(settings.host, settings.port):
            return Finding("port", "ok", f"a Fairline answers on {where} already")
        return Finding("port", "bad", error.problem)


def _is_fairline(host: str, port: int) -> bool:
    connection = HTTPConnection(host, port, timeout=1)
    try:
        connection.request("GET", "/healthz")
        answer = connection.getresponse()
        return bool(answer.getheader("x-request-id")) and json.loads(answer.read(1000)) == {"status": "ok"}
    except (OSError, HTTPException, ValueError):
        return False
    finally:
        connection.close()


def _folder(settings: ServerSettings) -> Finding:
    try:
        check_folder(settings.data)
        return Finding("data folder", "ok", str(settings.data))
    except StoreFolderUnfit as error:
        is_used = settings.store in EMBEDDED or not (settings.secret and settings.admin_key)
        state = "bad" if is_used else "warn"
        return Finding("data folder", state, f"{settings.data}: {error.problem}", error.advice)


def _store_left_behind(settings: ServerSettings) -> Iterator[Finding]:
    with contextlib.suppress(OSError):  # a folder that cannot be read is a finding already
        if other := store_left_behind(settings.store, settings.data):
            found = f"{settings.store} has no data in {settings.data}, but {other} has"
            yield Finding("store", "bad", found, f"To continue with this data, add --store {other}")


async def _beacon(settings: ServerSettings) -> Finding:
    try:
        check_beacon(settings)
    except InvalidSettings as error:
        return Finding("beacon", "bad", error.problem)
    from fairline.process.beacon import beacon_of, newest_round  # loads slowly, and most servers have none

    beacon = beacon_of(settings)
    assert beacon is not None
    try:
        return Finding("beacon", "ok", f"drand answers, and round {await newest_round(beacon):,} is signed")
    except ServiceFailed as error:
        advice = (
            "Until it answers, the server's secret decides draws alone. Let this machine call out, or set beacon_urls."
        )
        return Finding("beacon", "warn", error.message, advice)


async def _store(settings: ServerSettings) -> list[Finding]:
    data = settings.data
    if settings.store in EMBEDDED and not (embedded_server(settings.store, data).folder / "owner.lock").exists():
        # There is no data yet. The store is tried in a temporary folder, because only `serve` may create data.
        with TemporaryDirectory(prefix="fairline-doctor-") as folder:
            return await _store_in(settings, Path(folder))
    return await _store_in(settings, data)


async def _store_in(settings: ServerSettings, data: Path) -> list[Finding]:
    url, findings = settings.store, []
    try:
        try:
            store = await open_store(url, data=data)
        except StoreFolderInUse:
            findings.append(Finding("store", "ok", f"{url}, in use by a running server"))
            running = embedded_server(url, data).running_url()
            if running is None:
                return findings  # it has just ended
            store = await open_store(running)
    except FairlineError as error:
        return [*findings, Finding("store", "bad", error.message, "Start it, or choose another with --store.")]
    try:
        return [*findings, *await look_into(store, settings)]
    except StoreError as error:
        return [*findings, Finding("store", "bad", error.message)]
    finally:
        await store.close()
