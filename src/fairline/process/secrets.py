"""Secrets that a first start makes and keeps in the data folder."""

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
    # Admin keys are kept as digests that the secret goes into: the one of before would open nothing.
    SECRET: "Put the file back as it was; or remove it along with admin-key, and the next start makes new ones.",
    ADMIN_KEY: "Put the file back as it was; or remove it, and the next start makes a new one.",
}


def make_secret(data: Path, name: str, make: Callable[[], str]) -> str | None:
    """Make a secret and keep it in a file of the data folder; None where there is one already. The file is there with
    all that belongs in it or not at all, whoever else starts now and however full the disk is."""
    path = data / name
    if os.path.lexists(path):  # before anything is written: the folder may be one that cannot be written to
        return None
    secret = make()
    try:
        return secret if _put(path, f"{secret}\n".encode()) else None
    except OSError as error:
        problem = f"cannot be kept in {path} ({error.strerror}). Mend that, or choose another folder with --data."
        raise InvalidSettings(_setting(name), problem) from None


def read_secret(data: Path, name: str) -> str:
    """The secret in a file of the data folder, or InvalidSettings where it is none to rely on."""
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


def _setting(name: str) -> str:
    return name.replace("-", "_")


def _put(path: Path, content: bytes) -> bool:
    """Write a file, for its owner alone, and only then give it its name; False where something has the name."""
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
    """Give a file its name, unless something has it: FileExistsError."""
    try:
        path.hardlink_to(temporary)
    except FileExistsError:
        raise
    except OSError:
        # Some file systems have no links. There the name is taken first: who reads it before its content is refused.
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
        try:
            temporary.replace(path)
        except BaseException:
            path.unlink()
            raise


def _sync(folder: Path) -> None:
    """Have the name on the disk too: tokens are signed with the secret from now on."""
    with contextlib.suppress(OSError):  # not every file system can
        opened = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(opened)
        finally:
            os.close(opened)
