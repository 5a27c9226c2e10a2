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
from pathlib import Path

VERSION = "4.14.0"
INTEGRITY = "9WTZxEjsZ7b13TH8JPmbV2z8CHbl80/2hm3XPEG4JgNdQLK81IBRXmSxHfMAOkSqQeRxT/0dwNDz2GOm3zzpcQ=="


def axe_source() -> str:
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
