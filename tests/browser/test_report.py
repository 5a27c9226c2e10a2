"""The report as a page: anyone can read it, in light and dark, on a phone and on paper."""

from __future__ import annotations

import pytest

from tests.browser.axe import violations
from tests.browser.conftest import NewPerson
from tests.browser.venue import Venue


@pytest.mark.parametrize("width", [390, 1100])
def test_the_report_keeps_nobody_out(venue: Venue, come: NewPerson, width: int) -> None:
    queue = venue.queue(admission="manual", name="A sale with a long and winding name, spring to autumn")
    queue.others(30)
    queue.call(20)
    queue.act(1, "no-show")
    key = {"Authorization": f"Bearer {venue.server.admin_key}"}
    reader = come(bypass_csp=True, extra_http_headers=key, viewport={"width": width, "height": 800})  # for axe alone
    page = reader.tab(f"{venue.server.base_url}/api/v1/admin/queues/{queue.name}/report?format=html")
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
        assert violations(page) == []
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), "nothing sticks out"
    assert page.evaluate("[...document.querySelectorAll('svg path.line')].every(p => p.getTotalLength() > 0)")
    page.emulate_media(media="print", color_scheme="dark")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
