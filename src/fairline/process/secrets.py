"""Creates the server's secrets at its first start and keeps them in the data folder."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Callable
from pathlib import Path

from fairline.errors import InvalidSettings
from fairline.settings import MIN_SECRET_LENGTH

SECRET = "secret"
ADMIN_KEY = "admin-key"
_ADVICE = {
    # Admin keys are stored as digests that depend on the secret: with a new secret, the old key is no longer valid.
    SECRET: "Restore the file; or remove it along with admin-key, and the next start makes new ones.",
    ADMIN_KEY: "Restore the file; or remove it, and the next start makes a new one.",
}


def make_secret(data: Path, name: str, make: Callable[[], str]) -> str | None:
    """Create a secret and keep it in a file of the data folder; None where there is one already. The file exists with
    its full content or not at all, even if another server starts at the same time or the disk is full."""
    path = data / name
    if os.path.lexists(path):  # check before writing anything: the folder may be read-only
        return None
    secret = make()
    try:
        return secret if _put(path, f"{secret}\n".encode()) else None
    except OSError as error:
        problem = f"cannot be kept in {path} ({error.strerror}). Fix that, or choose another folder with --data."
        raise InvalidSettings(_setting(name), problem) from None


def read_secret(data: Path, name: str) -> str:
    """The secret in a file of the data folder, or InvalidSettings if it cannot be read or is too weak."""
    path = data / name
    try:
        secret = path.read_text(encoding="utf-8").strip()
    except OSError as error:
        raise InvalidSettings(_setting(name), f"cannot be read from {path} ({error.strerror})") from None
    except UnicodeDecodeError:
        raise InvalidSettings(_setting(name), f"is not text in {path}. {_ADVICE[name]}") from None
    if len(secret) < MIN_SECRET_LENGTH:
        problem = (
            f"has {len(secret)} characters in {path}; it needs at least {MIN_SECRET_LENGTH}, or it can be guessed."
        )
        raise InvalidSettings(_setting(name), f"{problem} {_ADVICE[name]}")
    return secret


def secrets_in(data: Path) -> dict[str, str]:
    """The secrets that are kept in the data folder, by the names of their files."""
    return {name: read_secret(data, name) for name in (SECRET, ADMIN_KEY) if os.path.lexists(data / name)}


def put_secret(data: Path, name: str, secret: str) -> None:
    """Keep a secret in a file of the data folder, in place of the one that is there."""
    data.mkdir(mode=0o700, parents=True, exist_ok=True)
    file, temporary = tempfile.mkstemp(prefix=f".{name}-", dir=data)
    with os.fdopen(file, "wb") as opened:
        opened.write(f"{secret}\n".encode())
        opened.flush()
        os.fsync(file)
    Path(temporary).replace(data / name)
    _sync(data)


def _setting(name: str) -> str:
    return name.replace("-", "_")


def _put(path: Path, content: bytes) -> bool:
    """Write a file that only its owner can read, and only then give it its name; False where the name is taken."""
    file, name = tempfile.mkstemp(prefix=f".{path.name}-", dir=path.parent)
    temporary = Path(name)
    try:
        with os.fdopen(file, "wb") as opened:
            opened.write(content)
            opened.flush()
            os.fsync(file)
        _give(temporary, path)
    except FileExistsError:
        return False
    finally:
        temporary.unlink(missing_ok=True)
    _sync(path.parent)
    return True


def _give(temporary: Path, path: Path) -> None:
    """Give a file its name; FileExistsError where the name is taken."""
    try:
        path.hardlink_to(temporary)
    except FileExistsError:
        raise
    except OSError:
        # Some file systems have no links. There the name is taken first; a reader that comes before the content finds
        # an empty file and refuses it.
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
        try:
            temporary.replace(path)
        except BaseException:
            path.unlink()
            raise


def _sync(folder: Path) -> None:
    """Write the new name to the disk too: tokens are signed with the secret from now on."""
    with contextlib.suppress(OSError):  # not every file system supports it
        opened = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(opened)
        finally:
            os.close(opened)
