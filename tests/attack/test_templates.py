"""What operators write and strangers set off: templates, patterns and words with placeholders, none of which stops a
worker."""

from __future__ import annotations

import os
import secrets
import signal
from pathlib import Path

import httpx
import pytest

from fairline.domain.bypass import path_passes
from fairline.domain.settings_checks import checked
from fairline.errors import InvalidSettings
from fairline.web.pages.renderer import Renderer
from tests.attack.conftest import MakeQueue
from tests.backends import wait_until
from tests.web.running import RunningServer

#: Each took a whole worker for minutes, or all of its memory.
ENDLESS = {
    "loops in loops": "{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}",
    "a power": "{{ 9 ** (9 ** 9) }}",
    "a power that the compiler works out": "{% set a = 7 ** (7 ** 9) %}{{ a }}",
    "a number as text": "{{ (10 ** 4000 | int) * 10 ** (10 ** 8) }}",
}
TOO_LARGE = {
    "a long text": "{{ 'x' * 9999999999 }}",
    "a wide field": "{{ '%9999999999d' % 1 }}",
    "another wide field": "{{ '{:>9999999999}'.format(1) }}",
    "a filter": "{{ 'x' | center(9999999999) }}",
    "a list": "{{ [1] * 9999999999 }}",
    "much of it": "{{ 'x' * 999999 }}",
    "macros in macros": "{% macro m() %}{{ m() }}{{ m() }}{% endmacro %}{{ m() }}",
}


def test_a_template_that_takes_too_much_is_refused_when_it_is_set(
    operator: httpx.Client, make_queue: MakeQueue
) -> None:
    queue = make_queue(name="As it was")
    operator.timeout = httpx.Timeout(60)
    for what, template in (ENDLESS | TOO_LARGE).items():
        answer = operator.patch(f"/api/v1/admin/queues/{queue}", json={"page_template": template, "name": "Changed"})
        assert answer.status_code == 422, what
        assert (answer.json()["code"], answer.json()["field"]) == ("invalid_settings", "page_template"), what
        assert "page_template" in answer.json()["detail"]
    for what in ("loops in loops", "a power"):
        named = {"id": f"q-{secrets.token_hex(6)}", "page_template": ENDLESS[what]}
        answer = operator.post("/api/v1/admin/queues", json=named)
        assert (answer.status_code, answer.json()["code"]) == (422, "invalid_settings"), what
        assert operator.get(f"/api/v1/admin/queues/{named['id']}").status_code == 404
    assert operator.get(f"/api/v1/admin/queues/{queue}").json()["name"] == "As it was"


def test_a_template_that_takes_too_much_for_some_people_stops_nobody(
    server: RunningServer, operator: httpx.Client, make_queue: MakeQueue
) -> None:
    operator.timeout = httpx.Timeout(60)
    # Harmless in every state that is tried, in the language that is tried.
    template = "{% if page.lang == 'de' %}" + ENDLESS["loops in loops"] + "{% endif %}Ours"
    queue, other = make_queue(page_template=template), make_queue(page_template="Other")
    with httpx.Client(base_url=server.base_url, timeout=60) as visitor:

        def ended() -> bool:
            page = visitor.get(f"/q/{queue}?lang=de")
            assert page.status_code == 200
            assert "/static/waiting.js" in page.text
            return any(entry["queue"] == queue for entry in server.logs("page.template_broken"))

        wait_until(ended, "the template is ended")
        wait_until(lambda: visitor.get(f"/q/{other}").text == "Other", "templates of other queues are drawn again")
        # It is not tried again until it changes, in whichever state or language.
        assert "/static/waiting.js" in visitor.get(f"/q/{queue}").text
        operator.patch(f"/api/v1/admin/queues/{queue}", json={"page_template": "Changed"}).raise_for_status()
        wait_until(lambda: visitor.get(f"/q/{queue}").text == "Changed", "the changed template is drawn")


def test_people_are_shown_a_page_when_what_draws_templates_is_killed(
    server: RunningServer, make_queue: MakeQueue
) -> None:
    queue = make_queue(page_template="Ours")
    with httpx.Client(base_url=server.base_url, timeout=60) as visitor:

        def shown() -> str:
            page = visitor.get(f"/q/{queue}")
            assert page.status_code == 200
            assert page.text == "Ours" or "/static/waiting.js" in page.text
            return page.text

        for _ in range(3):
            wait_until(lambda: shown() == "Ours", "the template is drawn")
            for pid in drawing_processes(server):
                os.kill(pid, signal.SIGKILL)
            shown()
        wait_until(lambda: shown() == "Ours", "the template is drawn again")


def drawing_processes(server: RunningServer) -> list[int]:
    children = [
        pid
        for worker in server.worker_pids()
        for file in Path(f"/proc/{worker}/task").glob("*/children")
        for pid in map(int, file.read_text().split())
    ]
    return [pid for pid in children if b"fairline.web.pages.sandbox" in Path(f"/proc/{pid}/cmdline").read_bytes()]


async def test_a_template_that_was_ended_ends_nothing_the_next_time() -> None:
    renderer = Renderer(60)
    try:
        assert await renderer.draw("{{ 1 + 1 }}", {}) == "2"
        process = renderer._process
        assert process is not None
        with pytest.raises(InvalidSettings, match="takes too much"):
            await renderer.draw(ENDLESS["a power"], {})
        assert process.returncode is not None
        assert await renderer.draw("{{ 1 + 1 }}", {}) == "2"
        process = renderer._process
        assert process is not None
        with pytest.raises(InvalidSettings, match="takes too much"):
            await renderer.draw(ENDLESS["a power"], {})
        assert renderer._process is process  # the second time nobody else's template was ended with it
        assert process.returncode is None
    finally:
        await renderer.close()


async def test_what_draws_templates_sees_none_of_the_secrets(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FAIRLINE_SECRET", "a secret of this server")
    monkeypatch.setenv("DATABASE_PASSWORD", "another one")
    renderer = Renderer(60)
    try:
        await renderer.draw("{{ 1 }}", {})
        assert renderer._process is not None
        environ = environ_of(renderer._process.pid)
        assert b"PATH=" in environ
        assert b"secret" not in environ.lower()
        assert b"another one" not in environ
    finally:
        await renderer.close()


def environ_of(pid: int) -> bytes:
    return Path(f"/proc/{pid}/environ").read_bytes()


def test_patterns_that_operators_write_take_no_longer_for_paths_that_strangers_choose() -> None:
    """As many stars as a pattern can have, and a path that almost fits: the work is bounded by the length of both, not
    by the number of ways to fit them."""
    pattern, path = "/" + "*a" * 99, "/" + "a" * 4000 + "b"
    assert not path_passes(path, [pattern] * 50)  # with every way tried, this would not end


def test_words_with_placeholders_are_filled_in_by_name_and_not_by_format(
    server: RunningServer, make_queue: MakeQueue
) -> None:
    attack = "{position:>99999999} {0.__class__} {n!r:>99999999} %(n)99999999d"
    queue = make_queue(texts={"joining_title": attack}, name=attack)
    page = httpx.get(f"{server.base_url}/q/{queue}")
    assert "{position:&gt;99999999} {0.__class__}" in page.text
    assert len(page.content) < 100_000


def test_a_logo_is_an_image_and_nothing_else() -> None:
    for logo in (
        "javascript:alert(1)",
        "data:text/html,<script>alert(1)</script>",
        "data:image/svg+xml,<svg>\n<script>",
        'data:image/png;base64,AAAA" onerror="alert(1)',
        "data:image/png;base64," + "A" * 10_000,
        "https://elsewhere.example/logo.png",
    ):
        with pytest.raises(InvalidSettings, match="logo"):
            checked({"logo": logo})
