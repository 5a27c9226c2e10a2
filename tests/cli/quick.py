"""Commands that start quickly: each is a process of its own, forked from one that has the modules of the command line.

To import those takes four times as long as what a command does.
"""

from __future__ import annotations

import gc
import importlib
import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from tests.shared import SHARED

ROOT = Path(__file__).parents[2]

#: What commands import, some of them only when they run.
USED = ("fairline.cli", "fairline.store.valkey.store", "fairline.store.postgres.store")
#: What hangs ends after that; doctor makes a whole PostgreSQL.
MOST_SECONDS = 240


def run(words: Sequence[str], environ: dict[str, str]) -> subprocess.CompletedProcess[str]:
    """Run a command with these variables and no others."""
    with tempfile.TemporaryDirectory() as folder:
        out, err = Path(folder, "out"), Path(folder, "err")
        wanted = {"words": words, "environ": environ, "cwd": str(Path.cwd()), "out": str(out), "err": str(err)}
        process = SHARED.get("commands", _forking)
        assert process.stdin
        assert process.stdout
        process.stdin.write(json.dumps(wanted) + "\n")
        process.stdin.flush()
        code = process.stdout.readline()
        assert code, "the process that forks has ended"
        said = (path.read_text(encoding="utf-8", errors="surrogateescape") for path in (out, err))
        return subprocess.CompletedProcess(["fairline", *words], int(code), *said)


@contextmanager
def _forking() -> Iterator[subprocess.Popen[str]]:
    """The process that forks. It ends when it has nothing more to read."""
    command = [sys.executable, "-m", "tests.cli.quick"]
    with subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        yield process


def _serve() -> None:
    for name in USED:
        importlib.import_module(name)
    for module in [name for name in sys.modules if name.startswith("fairline.cli")]:
        del sys.modules[module]  # these read some variables when they are imported
    gc.freeze()  # or each of them would copy what it only looks at
    for line in sys.stdin:
        wanted = json.loads(line)
        if (pid := os.fork()) == 0:
            _become(**wanted)
            return
        sys.stdout.write(f"{os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])}\n")
        sys.stdout.flush()


def _become(words: list[str], environ: dict[str, str], cwd: str, out: str, err: str) -> None:
    signal.alarm(MOST_SECONDS)
    os.environ.clear()
    os.environ.update(environ)
    os.chdir(cwd)
    for path, number in ((os.devnull, 0), (out, 1), (err, 2)):
        os.dup2(os.open(path, os.O_RDWR | os.O_CREAT), number)
    sys.argv = ["fairline", *words]
    importlib.import_module("fairline.cli").main()


if __name__ == "__main__":
    _serve()
