"""The program that draws pages with operators' own templates: a child process of a worker, which can be ended anytime.

It reads requests from standard input, each a length and pickled values, and answers with a mark, a length and text. The
operating system limits what a template may take, and ends this process: no check between two steps of a template could
stop a single step that never ends.
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

#: What one page may take: processor time, and characters.
CPU_SECONDS = 0.5
CHARACTERS = 200_000
#: The memory of this process, including Python and its libraries.
MEMORY_BYTES = 256 * 1024 * 1024
#: The first byte of an answer.
DRAWN, BROKEN = b"+", b"-"
LENGTH_BYTES = 4
#: How many compiled templates are kept.
COMPILED = 32
LONGEST_REASON = 300


class _Sandbox(ImmutableSandboxedEnvironment):
    """Runs an operator's template, which can use the page and the built-in templates, and nothing else."""

    def is_safe_attribute(self, obj: Any, attr: str, value: Any) -> bool:
        return not attr.startswith("_") and super().is_safe_attribute(obj, attr, value)


def environment(kind: type[Environment], loader: Any) -> Environment:
    """The Jinja environment of all pages."""
    made = kind(loader=loader, autoescape=True, trim_blocks=True, lstrip_blocks=True, undefined=StrictUndefined)
    made.policies["json.dumps_kwargs"] = {"ensure_ascii": False, "separators": (",", ":")}  # half the size in Arabic
    return made


def built_in() -> PackageLoader:
    """The built-in templates."""
    return PackageLoader("fairline.web.pages", "templates/page")


class OwnTemplates:
    """Draws pages with templates that come as text."""

    def __init__(self) -> None:
        loader = built_in()
        sandbox = environment(_Sandbox, FunctionLoader(lambda name: loader.get_source(sandbox, name)[0]))
        self._compiled = lru_cache(COMPILED)(sandbox.from_string)

    def answer(self, source: str, values: dict[str, Any]) -> tuple[bytes, str]:
        """The page, or the reason why it cannot be drawn."""
        try:
            return DRAWN, "".join(_bounded(self._compiled(source), values))
        except Exception as error:  # the worker gets any error of a template
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
        signal.setitimer(signal.ITIMER_PROF, CPU_SECONDS)  # the signal ends the process, whatever it is doing
        mark, text = templates.answer(source, values)
        signal.setitimer(signal.ITIMER_PROF, 0)
        content = text.encode(errors="replace")
        answers.write(mark + len(content).to_bytes(LENGTH_BYTES) + content)
        answers.flush()


def main() -> None:
    """Draw pages until the worker closes the pipe."""
    for name in (signal.SIGINT, signal.SIGTERM):
        signal.signal(name, signal.SIG_IGN)
    signal.signal(signal.SIGPROF, signal.SIG_DFL)
    for what, most in ((resource.RLIMIT_AS, MEMORY_BYTES), (resource.RLIMIT_CORE, 0), (resource.RLIMIT_FSIZE, 0)):
        _, hard = resource.getrlimit(what)
        limit = most if hard == resource.RLIM_INFINITY else min(most, hard)
        with contextlib.suppress(ValueError):  # macOS has no such limit; only the time limit applies there
            resource.setrlimit(what, (limit, limit))
    _serve(sys.stdin.buffer, sys.stdout.buffer)


if __name__ == "__main__":
    main()
