"""axe-core, which looks for what keeps people from using a page: fetched from the npm registry when it is first wanted.

It is kept outside of the repository, and is used only if it is to the last bit what was pinned here.
"""

from __future__ import annotations

import base64
import hashlib
import io
import os
import tarfile
import urllib.request
from functools import cache
from pathlib import Path
from typing import Any

from playwright.sync_api import Page

VERSION = "4.14.0"
INTEGRITY = "9WTZxEjsZ7b13TH8JPmbV2z8CHbl80/2hm3XPEG4JgNdQLK81IBRXmSxHfMAOkSqQeRxT/0dwNDz2GOm3zzpcQ=="


def violations(page: Page, **options: Any) -> list[str]:
    """What keeps someone from using a page, and where."""
    page.emulate_media(reduced_motion="reduce")  # what fades in has its colours only at the end
    if not page.evaluate("typeof axe === 'object'"):
        page.evaluate(_source())
    # The preview of a page is in a frame without scripts, so axe cannot run in there: it would only complain of that.
    options = {"resultTypes": ["violations"], "iframes": False} | options
    found = page.evaluate("async (options) => (await axe.run(document, options)).violations", options)
    return [f"{each['impact']}: {each['id']}: {[node['html'][:200] for node in each['nodes']]}" for each in found]


@cache
def _source() -> str:
    """The script."""
    kept = _cache() / f"axe-core-{VERSION}.tgz"
    if not kept.exists() or not _is_pinned(kept.read_bytes()):
        fetched = _fetched()
        assert _is_pinned(fetched), f"axe-core {VERSION} from the registry is not what was pinned"
        kept.parent.mkdir(parents=True, exist_ok=True)
        part = kept.with_suffix(f".{os.getpid()}")
        part.write_bytes(fetched)
        part.replace(kept)
    with tarfile.open(fileobj=io.BytesIO(kept.read_bytes())) as archive:
        member = archive.extractfile("package/axe.min.js")
        assert member is not None
        return member.read().decode()


def _fetched() -> bytes:
    registry = os.environ.get("npm_config_registry") or "https://registry.npmjs.org"  # noqa: SIM112 (npm spells it so)
    address = f"{registry.rstrip('/')}/axe-core/-/axe-core-{VERSION}.tgz"
    with urllib.request.urlopen(address, timeout=60) as answer:
        content: bytes = answer.read()
    return content


def _is_pinned(archive: bytes) -> bool:
    return base64.b64encode(hashlib.sha512(archive).digest()).decode() == INTEGRITY


def _cache() -> Path:
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "fairline-tests"
