"""The program that draws pages by operators' own templates: a child of a worker, which can be ended at any moment.

It reads requests from its standard input, each a length and what was pickled by the worker, and answers with a mark, a
length and text. What a template may take is bounded by the system, which ends this process: no check between two steps
of a template can stop a single step that never ends.
"""

from __future__ import annotations

import contextlib
import pickle
import resource
import signal
import sys
from collections.abc import Iterator
from functools import lru_cache
from typing import Any, BinaryIO

from jinja2 import Environment, FunctionLoader, PackageLoader, StrictUndefined, Template
from jinja2.sandbox import ImmutableSandboxedEnvironment

#: What one page may take: time of the processor, and characters.
CPU_SECONDS = 0.5
CHARACTERS = 200_000
#: All that this process may take, Python and its libraries among it.
MEMORY_BYTES = 256 * 1024 * 1024
#: The first byte of an answer.
DRAWN, BROKEN = b"+", b"-"
LENGTH_BYTES = 4
#: Templates that are kept compiled.
COMPILED = 32
LONGEST_REASON = 300


class _Sandbox(ImmutableSandboxedEnvironment):
    """Where an operator's template runs: it sees the page and the built-in templates, and nothing else."""

    def is_safe_attribute(self, obj: Any, attr: str, value: Any) -> bool:
        return not attr.startswith("_") and super().is_safe_attribute(obj, attr, value)


def environment(kind: type[Environment], loader: Any) -> Environment:
    """How all pages are drawn, by whichever templates."""
    made = kind(loader=loader, autoescape=True, trim_blocks=True, lstrip_blocks=True, undefined=StrictUndefined)
    made.policies["json.dumps_kwargs"] = {"ensure_ascii": False, "separators": (",", ":")}  # half the size in Arabic
    return made


def built_in() -> PackageLoader:
    """The built-in templates."""
    return PackageLoader("fairline.web.pages", "templates/page")


class OwnTemplates:
    """Draws pages by templates that come as text."""

    def __init__(self) -> None:
        loader = built_in()
        sandbox = environment(_Sandbox, FunctionLoader(lambda name: loader.get_source(sandbox, name)[0]))
        self._compiled = lru_cache(COMPILED)(sandbox.from_string)

    def answer(self, source: str, values: dict[str, Any]) -> tuple[bytes, str]:
        """The page, or why there is none."""
        try:
            return DRAWN, "".join(_bounded(self._compiled(source), values))
        except Exception as error:  # whatever a template does wrong, the worker is told
            return BROKEN, f"{type(error).__name__}: {error}"[:LONGEST_REASON]


def _bounded(template: Template, values: dict[str, Any]) -> Iterator[str]:
    left = CHARACTERS
    for part in template.generate(values):
        left -= len(part)
        if left < 0:
            raise OverflowError(f"it draws more than {CHARACTERS:,} characters")
        yield part


def _serve(requests: BinaryIO, answers: BinaryIO) -> None:
    templates = OwnTemplates()
    while head := requests.read(LENGTH_BYTES):
        source, values = pickle.loads(requests.read(int.from_bytes(head)))
        signal.setitimer(signal.ITIMER_PROF, CPU_SECONDS)  # its signal ends the process, within whatever it does
        mark, text = templates.answer(source, values)
        signal.setitimer(signal.ITIMER_PROF, 0)
        content = text.encode(errors="replace")
        answers.write(mark + len(content).to_bytes(LENGTH_BYTES) + content)
        answers.flush()


def main() -> None:
    """Draw until the worker closes its end."""
    for name in (signal.SIGINT, signal.SIGTERM):
        signal.signal(name, signal.SIG_IGN)
    signal.signal(signal.SIGPROF, signal.SIG_DFL)
    for what, most in ((resource.RLIMIT_AS, MEMORY_BYTES), (resource.RLIMIT_CORE, 0), (resource.RLIMIT_FSIZE, 0)):
        _, hard = resource.getrlimit(what)
        limit = most if hard == resource.RLIM_INFINITY else min(most, hard)
        with contextlib.suppress(ValueError):  # macOS has no limit of this kind; that of time is left
            resource.setrlimit(what, (limit, limit))
    _serve(sys.stdin.buffer, sys.stdout.buffer)


if __name__ == "__main__":
    main()
