"""The call for the checklist of an opening: what to look at before the night, and what to do."""

from __future__ import annotations

import asyncio
import time
from ipaddress import ip_address
from typing import Annotated
from urllib.parse import urlsplit

from msgspec import Meta, Struct

from fairline.domain.opening import Opening
from fairline.domain.opening_checks import Check, CheckName, CheckState, Value, opening_checks
from fairline.domain.opening_steps import before, in_force
from fairline.domain.queue import QueueId
from fairline.domain.queue_settings import QueueSettings
from fairline.domain.rehearsal import RehearsalState
from fairline.errors import AddressRefused, InvalidRequest, ServiceFailed
from fairline.keeper import outbound
from fairline.service.openings import Openings
from fairline.service.rehearsal import Rehearsals
from fairline.settings import BeaconKind, PrivateAddresses
from fairline.store import Role
from fairline.store.machine import FILES_WANTED, free_space, open_files
from fairline.web.admin.operator_call import Call, OperatorCalls, Operators
from fairline.web.admin.spans import span_in_words
from fairline.web.pages.languages import Language, staff_language
from fairline.web.server.http import Response, private
from fairline.web.server.operations import Operation, Query
from fairline.web.server.preferred_language import chosen

#: The time that the site has to answer.
TARGET_SECONDS = 5.0
#: How many checklists of a worker ask the site and the public address at once. The others wait.
ASKED_AT_ONCE = 2
#: A keeper that has been silent for this long is away.
KEEPER_SILENT_MS = 15_000
#: Certificates are renewed about this long before their end. One that ends sooner has not been.
CERTIFICATE_DAYS = 14
#: The free space at which to look, and at which the store will soon fail.
LITTLE_SPACE, NO_SPACE = 2_000_000_000, 200_000_000
MOST_PEOPLE = 10_000_000


class CheckAnswer(Struct, frozen=True):
    """One line of the list."""

    check: CheckName
    state: CheckState
    """`ok`, `look` where a person has to decide, or `problem`."""
    title: str
    """What was checked, in the language of the request, as all texts of the list."""
    found: str
    advice: str
    """What to do; empty if there is nothing to do."""


class Checklist(Struct, frozen=True):
    """What to look at before an opening."""

    checks: list[CheckAnswer]


class ChecklistCalls(OperatorCalls):
    """The call for the checklist of an opening."""

    def __init__(self, operators: Operators, rehearsals: Rehearsals) -> None:
        super().__init__(operators)
        self._settings = operators.context.settings
        self._openings = Openings(operators.service)
        self._rehearsals = rehearsals
        self._asked = asyncio.Semaphore(ASKED_AT_ONCE)

    def rows(self) -> list[Operation]:
        """The operations of this class."""
        return [
            self._row(
                Role.VIEWER,
                "GET /queues/{queue}/openings/{opening}/checklist",
                "What to look at before an opening, with what to do: its settings, the site, this server.",
                self.checklist,
                {200: Checklist},
                query=(
                    Query(
                        "people",
                        Annotated[int, Meta(ge=1, le=MOST_PEOPLE)],
                        "how many people are expected; by default as many as there is stock",
                    ),
                ),
                problems=("invalid_request",),
            )
        ]

    async def checklist(self, call: Call) -> Response:
        """All checks, in the words of the reader."""
        people = _people_in_query(call)
        found = await self._openings.one(call.queue, call.request.params["opening"])
        settings, opening = before(found.configured.settings, found.opening), found.opening
        during = in_force(settings, opening)
        snapshot, _ = await self._service.snapshot(call.queue)
        checks = list(opening_checks(settings, during, opening, snapshot, people))
        checks += [check for check in (self._draw(opening), self._notices(during)) if check]
        async with self._asked:
            checks += await asyncio.gather(self._target(during), self._address(opening))
        checks += [await self._keeper(), await self._rehearsed(call.queue, during, opening)]
        checks += [*self._disk(), self._files(people)]
        order = list(CheckName)
        checks.sort(key=lambda check: order.index(check.name))
        t = staff_language(chosen(call.request))
        return private(200, Checklist([check_answer(t, check) for check in checks]))

    def _draw(self, opening: Opening) -> Check | None:
        if not opening.drawn:
            return None
        has_beacon = self._settings.beacon is not BeaconKind.OFF
        state = CheckState.OK if has_beacon else CheckState.LOOK
        return Check(CheckName.DRAW, state, "draw_beacon" if has_beacon else "draw_secret_alone")

    def _notices(self, during: QueueSettings) -> Check | None:
        if not during.notices and during.ask_email == "no":
            return None
        mails = bool(self._settings.smtp_url)
        state = CheckState.OK if mails else CheckState.LOOK
        return Check(CheckName.NOTICES, state, "notices_mail" if mails else "notices_no_mail")

    async def _target(self, during: QueueSettings) -> Check:
        if not during.target_url:
            state = CheckState.OK if during.is_walk_in else CheckState.LOOK
            return Check(CheckName.TARGET, state, "target_desk" if during.is_walk_in else "target_none")
        began = time.monotonic()
        try:
            answer = await outbound.send("GET", during.target_url, seconds=TARGET_SECONDS, private=self._private)
        except AddressRefused:
            return Check(CheckName.TARGET, CheckState.LOOK, "target_private")
        except ServiceFailed as error:
            return Check(CheckName.TARGET, CheckState.PROBLEM, "target_away", {"why": error.message})
        took = round(1000 * (time.monotonic() - began))
        if answer.status >= 400:
            state = CheckState.PROBLEM if answer.status >= 500 else CheckState.LOOK
            return Check(CheckName.TARGET, state, "target_error", {"status": str(answer.status)})
        return Check(CheckName.TARGET, CheckState.OK, "target_answers", {"ms": took})

    @property
    def _private(self) -> bool:
        """Whether private addresses may be called: a site may be beside this server, as a webhook may."""
        return self._settings.webhook_private_addresses is PrivateAddresses.ALLOW

    async def _address(self, opening: Opening) -> Check:
        url = self._settings.public_url
        if not url:
            return Check(CheckName.ADDRESS, CheckState.LOOK, "address_none")
        if not url.startswith("https:"):
            local = _is_loopback(urlsplit(url).hostname or "")
            state = CheckState.LOOK if local else CheckState.PROBLEM
            return Check(CheckName.ADDRESS, state, "address_local" if local else "address_http", {"url": url})
        try:
            ends = await outbound.certificate_ends(url, seconds=TARGET_SECONDS, private=self._private)
        except AddressRefused:
            return Check(CheckName.ADDRESS, CheckState.LOOK, "certificate_private")
        except ServiceFailed as error:
            return Check(CheckName.ADDRESS, CheckState.PROBLEM, "certificate_unread", {"why": error.message})
        days = int((ends - time.time()) // 86_400)
        if 1000 * ends < (opening.ends_ms or opening.starts_ms):
            return Check(CheckName.ADDRESS, CheckState.PROBLEM, "certificate_too_short", {"n": days})
        state = CheckState.OK if days >= CERTIFICATE_DAYS else CheckState.LOOK
        return Check(CheckName.ADDRESS, state, "certificate_good", {"n": days})

    async def _keeper(self) -> Check:
        store = self._service.store
        last, now = await store.registry.last_alive("keeper"), await store.time()
        away = last is None or now - last > KEEPER_SILENT_MS
        state = CheckState.PROBLEM if away else CheckState.OK
        return Check(CheckName.KEEPER, state, "keeper_away" if away else "keeper_alive")

    async def _rehearsed(self, queue: QueueId, during: QueueSettings, opening: Opening) -> Check:
        last = await self._rehearsals.kept(queue, opening.id)
        if last is None:
            return Check(CheckName.REHEARSAL, CheckState.LOOK, "rehearsal_none")
        if last.state is RehearsalState.RUNNING:
            return Check(CheckName.REHEARSAL, CheckState.LOOK, "rehearsal_running")
        if last.state is RehearsalState.FAILED:
            return Check(CheckName.REHEARSAL, CheckState.PROBLEM, "rehearsal_failed")
        if not self._rehearsals.is_current(last, during, opening):
            return Check(CheckName.REHEARSAL, CheckState.LOOK, "rehearsal_older")
        return Check(CheckName.REHEARSAL, CheckState.OK, "rehearsal_passed")

    def _disk(self) -> list[Check]:
        free = free_space(self._settings.data)
        if free is None:
            return []
        state = CheckState.PROBLEM if free < NO_SPACE else CheckState.LOOK if free < LITTLE_SPACE else CheckState.OK
        found = "disk_good" if state is CheckState.OK else "disk_little"
        return [Check(CheckName.DISK, state, found, {"gb": f"{free / 1e9:.1f}"})]

    def _files(self, people: int | None) -> Check:
        limit, _ = open_files()
        wanted = max(1024, people // self._settings.workers + 500) if people else FILES_WANTED
        good = limit >= wanted
        state = CheckState.OK if good else CheckState.LOOK
        return Check(CheckName.FILES, state, "files_good" if good else "files_few", {"n": limit, "wanted": wanted})


def check_answer(t: Language, check: Check) -> CheckAnswer:
    """A check in the words of a language."""
    values = {name: _shown(t, name, value) for name, value in check.values.items()}
    advice = t(f"advice_{check.found}", **values) if f"advice_{check.found}" in t.names else ""
    return CheckAnswer(check.name, check.state, t(f"checked_{check.name}"), t(f"found_{check.found}", **values), advice)


def _shown(t: Language, name: str, value: Value) -> str:
    if name.startswith("span"):
        return span_in_words(t, float(value))
    return t.number(value) if isinstance(value, int) else str(value)


def _people_in_query(call: Call) -> int | None:
    text = call.request.args.get("people")
    if not text:
        return None
    if not text.isascii() or not text.isdecimal() or not 1 <= int(text[:9]) <= MOST_PEOPLE or len(text) > 8:
        raise InvalidRequest("people", f"must be a whole number from 1 to {MOST_PEOPLE:,}; got {text!r:.80}")
    return int(text)


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")
