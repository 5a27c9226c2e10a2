"""The file of a backup: what is in it, and how it is written and read.

    one line of JSON        the `Header`: `head -1 FILE` shows it
    blocks                  the length in 8 bytes (big-endian), then a `Record` as MessagePack, compressed with zlib
    8 zero bytes            the end
    32 bytes                the SHA-256 digest of everything before

A reader checks the digest of the whole file before it uses any of it.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

import msgspec
from msgspec import Struct

from fairline.errors import BackupRefused
from fairline.store.contract import Kind

FORMAT = "fairline-backup"
#: The version of this format. A reader refuses a later one.
VERSION = 1
_LENGTH_BYTES = 8
_DIGEST_BYTES = 32
_MOST_HEADER_BYTES = 10_000
_SLICE = 1 << 20
#: The fastest level: the store is read meanwhile, and the higher levels save only about a tenth more.
_LEVEL = 1

_encode = msgspec.msgpack.Encoder().encode


class Header(Struct, frozen=True, kw_only=True):
    """The first line of the file."""

    format: str = FORMAT
    version: int = VERSION
    fairline: str
    """The version of Fairline that wrote it."""
    store: Kind
    taken_at: str
    """When it was begun, in UTC."""
    schema: int = 0
    """The version of the schema, on PostgreSQL."""
    secret: str = ""
    """The fingerprint of the secret that signed the tokens; empty if it was not known."""
    contains: list[str]
    """In words, so that the owner of the file knows how carefully to keep it."""


class _Beginning(Struct):
    """What every version of the header has."""

    format: str
    version: int
    fairline: str


class Record(Struct, frozen=True, array_like=True):
    """A part of a backup. What it holds depends on its kind."""

    kind: str
    name: str
    parts: dict[str, bytes]


_decode = msgspec.msgpack.Decoder(Record).decode


class BackupWriter:
    """Writes the blocks of a file, and keeps its digest."""

    def __init__(self, file: BinaryIO, header: Header) -> None:
        self._file = file
        self._digest = hashlib.sha256()
        self._write(msgspec.json.encode(header) + b"\n")

    def add(self, record: Record) -> None:
        """Append a record."""
        block = zlib.compress(_encode(record), _LEVEL)
        self._write(len(block).to_bytes(_LENGTH_BYTES, "big"))
        self._write(block)

    def finish(self) -> None:
        """Append the end and the digest."""
        self._write(bytes(_LENGTH_BYTES))
        self._file.write(self._digest.digest())

    def _write(self, data: bytes) -> None:
        self._digest.update(data)
        self._file.write(data)


@contextmanager
def new_backup(path: Path, header: Header) -> Iterator[BackupWriter]:
    """A new file that only its owner can read. It has its name once it is complete and on disk; if the block fails,
    there is no file."""
    refuse_existing(path)
    try:
        opened, name = tempfile.mkstemp(prefix=f".{path.name}-", dir=path.parent)
    except OSError as error:
        raise BackupRefused(f"The backup cannot be written to {path.parent}: {error.strerror}.") from None
    temporary = Path(name)
    try:
        with os.fdopen(opened, "wb") as file:
            writer = BackupWriter(file, header)
            yield writer
            writer.finish()
            file.flush()
            os.fsync(opened)
        refuse_existing(path)
        temporary.replace(path)
    except OSError as error:
        raise BackupRefused(f"The backup cannot be written to {path}: {error.strerror or error}.") from error
    finally:
        temporary.unlink(missing_ok=True)


def refuse_existing(path: Path) -> None:
    """A backup never replaces a file."""
    if os.path.lexists(path):
        raise BackupRefused(f"{path} exists already. Name a new file, or move this one away.")


class BackupReader:
    """A file that was read once and is whole."""

    def __init__(self, path: Path, own_version: str) -> None:
        self._path = path
        try:
            with path.open("rb") as file:
                self.header = self._read_header(file, own_version)
                self._begin = file.tell()
            self._check_digest()
        except OSError as error:
            raise BackupRefused(f"{path} cannot be read: {error.strerror or error}.") from None

    def records(self) -> Iterator[Record]:
        """All records, in the order in which they were written."""
        with self._path.open("rb") as file:
            file.seek(self._begin)
            while length := int.from_bytes(file.read(_LENGTH_BYTES), "big"):
                yield _decode(zlib.decompress(file.read(length)))

    def _read_header(self, file: BinaryIO, own_version: str) -> Header:
        line = file.readline(_MOST_HEADER_BYTES)
        try:
            found = msgspec.json.decode(line, type=_Beginning)
        except (msgspec.MsgspecError, UnicodeDecodeError):
            found = None
        if found is None or found.format != FORMAT:
            raise BackupRefused(f"{self._path} is not a backup of Fairline, or it is damaged at its beginning.")
        if found.version > VERSION or _numbers(found.fairline) > _numbers(own_version):
            raise BackupRefused(
                f"{self._path} was written by Fairline {found.fairline:.20}, and this is {own_version}. Restore it "
                "with that version or a later one."
            )
        try:
            return msgspec.json.decode(line, type=Header)
        except msgspec.MsgspecError:
            raise self._damaged() from None

    def _check_digest(self) -> None:
        digest = hashlib.sha256()
        left = self._path.stat().st_size - _DIGEST_BYTES
        with self._path.open("rb") as file:
            while left > 0 and (data := file.read(min(left, _SLICE))):
                digest.update(data)
                left -= len(data)
            if left != 0 or file.read() != digest.digest():
                raise self._damaged()

    def _damaged(self) -> BackupRefused:
        return BackupRefused(
            f"{self._path} is damaged or incomplete: its checksum is wrong. Nothing was restored. Take another backup."
        )


def _numbers(version: str) -> list[int]:
    """The numbers of a version, to compare two of them."""
    return [int(part) for part in version.split(".") if part.isdigit()]
