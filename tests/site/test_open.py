"""nginx with the advice for sites that would rather be open than closed."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from tests.site import proxies
from tests.site.conftest import Venue
from tests.site.visitor import Visitor, waiting_page


@pytest.fixture
def rather_open(monkeypatch: pytest.MonkeyPatch) -> None:
    """The documented file, with what the page says to add."""
    page = (proxies.DOCS / "protect-a-site-with-nginx.md").read_text(encoding="utf-8")
    line = re.search(r"`(error_page 500 = @open;)`", page)
    assert line
    block = proxies.documented("protect-a-site-with-nginx.md", "conf")
    found = proxies.documented("protect-a-site-with-nginx.md", "nginx")
    changed = found.replace("error_page 401 = @fairline;", f"error_page 401 = @fairline; {line[1]}")
    changed = changed.replace("    location @fairline {", f"{block}\n    location @fairline {{", 1)
    assert changed != found
    monkeypatch.setattr(proxies, "documented", lambda _page, _language: changed)


@pytest.mark.usefixtures("rather_open")
async def test_it_is_open_while_fairline_is_away_and_for_no_other_reason(venue: Venue, tmp_path: Path) -> None:
    if shutil.which("nginx") is None:
        pytest.skip("nginx is not installed")
    with venue.behind("nginx", tmp_path, 10) as site:
        venue.queue(site.url)
        async with Visitor(site) as someone:
            waiting_page(await someone.asks("/lamp"))
            large = {f"x-{number}": "a" * 6000 for number in range(4)}
            assert (await someone.asks("/lamp", headers=large)).status_code == 431
            venue.fairline.stop()
            assert (await someone.asks("/lamp")).status_code == 200
            venue.fairline.start()
