"""Serves the static files of the pages, style sheets and scripts, from the package's own folder only."""

from __future__ import annotations

import gzip
import re
from collections.abc import Mapping
from functools import cache
from hashlib import sha256
from importlib.resources import files

from msgspec import Struct

import fairline
from fairline.errors import NotFound
from fairline.web.server.compression import GZIP, VARIES, accepts_gzip
from fairline.web.server.http import Headers, Request, Response

_MEDIA = {
    "css": b"text/css; charset=utf-8",
    "js": b"text/javascript; charset=utf-8",
    "svg": b"image/svg+xml",
}
#: How a script imports another one. Those of the dashboard import each other by their plain addresses, which the import
#: map of its pages resolves; other pages have no import map.
_IMPORT = re.compile(rb'(?<= from "\./)(?!admin)[\w-]+\.js(?=";)')
#: What a script imports at once, and not only when it is wanted.
_AT_ONCE = re.compile(r' from "\./([\w-]+\.js)";')
#: How a style sheet takes in another one. A page loads one sheet: the text of the other one is put in its place.
_TAKEN_IN = re.compile(rb'@import "\./([\w-]+\.css)";')
#: A comment that has its lines to itself: it is for those who read the source, and a quarter of what a script weighs.
_COMMENT = re.compile(rb"^[ \t]*(?:/\*(?:[^*]|\*(?!/))*\*/|//.*)[ \t]*\n", re.MULTILINE)
#: An address with the digest of the content in it never answers anything else.
_FOR_EVER: Headers = ((b"cache-control", b"public, max-age=31536000, immutable"),)
#: The content of an address without a digest may change with the next version.
_FOR_NOW: Headers = ((b"cache-control", b"public, max-age=300"),)


class Asset(Struct, frozen=True):
    """One static file, plain and compressed."""

    content: bytes
    packed: bytes
    digest: str
    media: bytes


class Assets:
    """All static files, read and compressed once, without the comments in them."""

    def __init__(self) -> None:
        folder = files("fairline.web.pages") / "static"
        sources = {file.name: file.read_bytes() for file in folder.iterdir() if _kind(file.name)}
        self._contents = contents = {name: _COMMENT.sub(b"", source) for name, source in sources.items()}
        self._files = {name: _asset(name, _with_imports(name, contents)) for name in contents}

    def url(self, name: str) -> str:
        """The address of a file."""
        return f"/static/{name}?v={self._files[name].digest}"

    def text(self, name: str) -> str:
        """The content of a file, for a page that has it in itself."""
        return self._files[name].content.decode()

    def modules(self, beginning: str) -> dict[str, str]:
        """An import map: from the plain addresses by which scripts import each other to those with a digest."""
        return {f"/static/{name}": self.url(name) for name in self._files if re.match(rf"{beginning}.*\.js$", name)}

    def scripts(self, *names: str) -> dict[str, str]:
        """The text of some scripts, and of all that they import at once."""
        found: dict[str, str] = {}
        left = [*names]
        while left:
            name = left.pop()
            if name not in found:
                found[name] = self._contents[name].decode()
                left += _AT_ONCE.findall(found[name])
        return found

    def version(self, *names: str) -> str:
        """A text that changes whenever one of these files or the server's version changes."""
        digests = "".join(self._files[name].digest for name in names)
        return f"{fairline.__version__}-{sha256(digests.encode()).hexdigest()[:12]}"

    async def file(self, request: Request) -> Response:
        """Answer with a file by its name."""
        name = request.params["name"]
        asset = self._files.get(name)
        if asset is None:
            raise NotFound(f"There is no file {name[:80]!r}.")
        headers = (VARIES,) + (_FOR_EVER if request.args.get("v") == asset.digest else _FOR_NOW)
        if accepts_gzip(request):
            return Response(200, asset.packed, asset.media, (*headers, GZIP))
        return Response(200, asset.content, asset.media, headers)


@cache
def all_assets() -> Assets:
    """The static files, read once in a process."""
    return Assets()


def _asset(name: str, content: bytes) -> Asset:
    packed = gzip.compress(content, 9, mtime=0)
    return Asset(content, packed, _digest(content), _kind(name))


def _digest(content: bytes) -> str:
    return sha256(content).hexdigest()[:12]


def _with_imports(name: str, contents: Mapping[str, bytes]) -> bytes:
    """A style sheet with what it imports in it; a script in which each import has the digest of the imported script. So
    a file and what it imports are always of one version, and the file's own digest changes with what it imports."""

    def versioned(imported: re.Match[bytes]) -> bytes:
        content = _with_imports(imported[0].decode(), contents)
        return imported[0] + b"?v=" + _digest(content).encode()

    def taken_in(imported: re.Match[bytes]) -> bytes:
        return _with_imports(imported[1].decode(), contents)

    if name.endswith(".css"):
        return _TAKEN_IN.sub(taken_in, contents[name])
    return _IMPORT.sub(versioned, contents[name])


def _kind(name: str) -> bytes:
    return _MEDIA.get(name.rpartition(".")[2], b"")
