"""Draws pages with operators' own templates, in a separate process that is ended if a template takes too much.

The worker is not blocked meanwhile. A template that had to be ended is not tried again until it changes. See
docs/decisions/0013-templates-are-drawn-apart.md.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import pickle
import signal
import sys
from asyncio.subprocess import PIPE, Process
from collections import OrderedDict
from hashlib import blake2b
from typing import Any

from fairline.errors import InvalidSettings
from fairline.web.pages import sandbox

#: How long a page waits for pages before it, and for its own answer on a busy machine.
WAIT_SECONDS = 2.0
ANSWER_SECONDS = 10.0
#: A longer answer is refused.
LARGEST_ANSWER = 1_000_000
#: How many templates that had to be ended are remembered.
REMEMBERED = 1000
#: Exit codes that a template can cause. The machine or its administrator causes others.
_ENDS_BY_TEMPLATE = (-signal.SIGPROF, -signal.SIGSEGV, -signal.SIGABRT, -signal.SIGBUS)
#: The process gets only the environment variables that Python needs to start: others may contain secrets.
_NEEDED = ("PATH", "HOME", "LANG", "LC_", "LD_", "PYTHON", "VIRTUAL_ENV")


class Renderer:
    """One process that draws pages. The first page that needs it starts it."""

    def __init__(self, answer_seconds: float = ANSWER_SECONDS) -> None:
        self._answer_seconds = answer_seconds
        self._turn = asyncio.Lock()
        self._process: Process | None = None
        self._ended: OrderedDict[bytes, None] = OrderedDict()

    async def draw(self, source: str, values: dict[str, Any]) -> str:
        """Draw a page with a template. Raises InvalidSettings if the template is wrong, and OSError if no page can be
        drawn now."""
        # A cancelled request must not leave half an answer for the next one, so the drawing goes on.
        return await asyncio.shield(self._draw(source, values))

    async def close(self) -> None:
        """End the process."""
        process, self._process = self._process, None
        if process is not None:
            with contextlib.suppress(ProcessLookupError):
                process.kill()
            await process.wait()

    async def _draw(self, source: str, values: dict[str, Any]) -> str:
        template = blake2b(source.encode(), digest_size=16).digest()
        async with asyncio.timeout(WAIT_SECONDS):
            await self._turn.acquire()
        try:
            if template in self._ended:
                raise _took_too_much()
            mark, text = await self._answer_or_end(template, pickle.dumps((source, values)))
        finally:
            self._turn.release()
        if mark != sandbox.DRAWN:
            raise InvalidSettings("page_template", f"cannot be drawn: {text}")
        return text

    async def _answer_or_end(self, template: bytes, request: bytes) -> tuple[bytes, str]:
        try:
            return await self._answer(request)
        except asyncio.IncompleteReadError:
            code = await self._code()
            if code not in _ENDS_BY_TEMPLATE:
                raise OSError(f"the process that draws templates ended with {code}") from None
            self._remember(template)
            raise _took_too_much() from None
        except BaseException:
            await self.close()  # a late answer would be taken for the next one
            raise

    async def _answer(self, request: bytes) -> tuple[bytes, str]:
        async with asyncio.timeout(self._answer_seconds):
            process = self._process
            if process is None or process.returncode is not None:
                process = self._process = await _started()
            assert process.stdin is not None
            assert process.stdout is not None
            # If the process has ended meanwhile, reading reports it. uvloop raises RuntimeError for a closed pipe.
            with contextlib.suppress(ConnectionError, RuntimeError):
                process.stdin.write(len(request).to_bytes(sandbox.LENGTH_BYTES) + request)
                await process.stdin.drain()
            head = await process.stdout.readexactly(1 + sandbox.LENGTH_BYTES)
            length = int.from_bytes(head[1:])
            if length > LARGEST_ANSWER:
                raise OSError(f"the process that draws templates announced {length:,} bytes")
            return head[:1], (await process.stdout.readexactly(length)).decode(errors="replace")

    async def _code(self) -> int | None:
        process, self._process = self._process, None
        return await process.wait() if process else None

    def _remember(self, template: bytes) -> None:
        self._ended[template] = None
        while len(self._ended) > REMEMBERED:
            self._ended.popitem(last=False)


def _took_too_much() -> InvalidSettings:
    return InvalidSettings(
        "page_template",
        f"takes too much: it was ended. A page may take {sandbox.CPU_SECONDS:g} s of the processor and "
        f"{sandbox.MEMORY_BYTES // 1024**2} MB of memory. Take out loops in loops, and large numbers",
    )


async def _started() -> Process:
    return await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", sandbox.__name__),
        stdin=PIPE,
        stdout=PIPE,
        env={name: value for name, value in os.environ.items() if name.startswith(_NEEDED)},
        start_new_session=True,
    )
