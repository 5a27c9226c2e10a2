"""The files of the pages: style sheets and the like, from the package's own folder and nowhere else."""

from __future__ import annotations

from hashlib import sha256
from importlib.resources import files

from fairline.errors import NotFound
from fairline.web.http import Headers, Request, Response

_MEDIA = {
    "css": b"text/css; charset=utf-8",
    "js": b"text/javascript; charset=utf-8",
    "svg": b"image/svg+xml",
}
#: The address has the digest of the content in it, so what it answers never changes.
_FOR_EVER: Headers = (
    (b"cache-control", b"public, max-age=31536000, immutable"),
    (b"x-content-type-options", b"nosniff"),
)


class Assets:
    """All files, read once."""

    def __init__(self) -> None:
        folder = files("fairline.web") / "static"
        self._files = {file.name: file.read_bytes() for file in folder.iterdir() if _kind(file.name) in _MEDIA}

    def url(self, name: str) -> str:
        """The address of a file."""
        return f"/static/{name}?v={sha256(self._files[name]).hexdigest()[:12]}"

    async def file(self, request: Request) -> Response:
        """A file by its name."""
        name = request.params["name"]
        content = self._files.get(name)
        if content is None:
            raise NotFound(f"There is no file {name[:80]!r}.")
        return Response(200, content, _MEDIA[_kind(name)], _FOR_EVER)


def _kind(name: str) -> str:
    return name.rpartition(".")[2]
