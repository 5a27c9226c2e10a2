"""What it costs to ask: a page through nginx with `auth_request`, and the same page without it."""

from __future__ import annotations

import asyncio
import re
import shutil
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from statistics import median

import httpx
from rich.table import Table

from bench.http import Load, join, made, sessions, write_script, wrk
from bench.served import HOST, fairline, free_port

#: At least so much, at most so much more.
WANTED_RATE, WANTED_MS = 10_000, 2.0
HOW_TO = Path(__file__).parents[1] / "docs" / "how-to" / "protect-a-site-with-nginx.md"
FRAME = """daemon off; worker_processes 2; error_log {folder}/error.log; pid {folder}/nginx.pid;
events {{ worker_connections 4096; }}
http {{ access_log off; client_body_temp_path {folder}/1; proxy_temp_path {folder}/2; fastcgi_temp_path {folder}/3;
uwsgi_temp_path {folder}/4; scgi_temp_path {folder}/5; keepalive_requests 1000000;
server {{ listen 127.0.0.1:{shop}; root {folder}/pages; }}
server {{ listen 127.0.0.1:{bare}; location / {{ proxy_pass http://shop; proxy_http_version 1.1;
proxy_set_header Connection ""; proxy_set_header Host $host; }} }}
{documented}
}}"""


async def measure(quick: bool) -> list[Table]:
    """The page without the question, with it, and the question alone, by few and by many, in interleaved rounds."""
    for program in ("wrk", "nginx"):
        if shutil.which(program) is None:
            raise RuntimeError(f"{program} is needed: apt-get install {program}")
    rounds, seconds = (1, 2) if quick else (3, 4)
    seen: dict[tuple[str, int], list[Load]] = {}
    with tempfile.TemporaryDirectory(prefix="fairline-nginx-") as folder:
        async with (
            fairline(FAIRLINE_TRUSTED_PROXIES=HOST) as served,
            _nginx(Path(folder), served.port) as (bare, asked),
        ):
            base = f"http://{HOST}:{served.port}"
            headers = {"authorization": f"Bearer {served.admin_key}"}
            async with httpx.AsyncClient(base_url=base, headers=headers, timeout=30) as client:
                await made(client, "shop", {"admission_rate": 10_000, "max_active": 2000})
                passes = await sessions(client, await join(client, "shop", 500))
            page = write_script(Path(folder), "page", passes, "GET", "/page.html")
            alone = write_script(Path(folder), "verify", passes, "GET", "/api/v1/session/verify?queue=shop")
            for _ in range(rounds):
                for connections in (4, 64):
                    for name, port, script in (
                        ("without", bare, page),
                        ("with", asked, page),
                        ("alone", served.port, alone),
                    ):
                        load = await wrk(port, script, seconds, connections)
                        seen.setdefault((name, connections), []).append(load)
    return [_table(seen, rounds)]


def _table(seen: dict[tuple[str, int], list[Load]], rounds: int) -> Table:
    table = Table(title=f"A page through nginx, and what checking the session token adds: medians of {rounds} rounds")
    for column in ("what", "connections", "a second", "p50 ms", "p99 ms", "wanted"):
        table.add_column(column, justify="left" if column == "what" else "right")
    names = {"without": "without asking", "with": "with auth_request", "alone": "the question alone"}
    for (name, connections), loads in sorted(
        seen.items(), key=lambda item: (item[0][1], list(names).index(item[0][0]))
    ):
        wanted = ""
        if (name, connections) == ("with", 4):
            more = median(load.p50_ms - bare.p50_ms for load, bare in zip(loads, seen["without", 4], strict=True))
            wanted = f"{more:+.2f} ms (≤ +{WANTED_MS:g})"
        elif (name, connections) == ("alone", 64):
            wanted = f"≥ {WANTED_RATE:,} a second"
        figures = [median(getattr(load, what) for load in loads) for what in ("rate", "p50_ms", "p99_ms")]
        table.add_row(
            names[name], str(connections), f"{figures[0]:,.0f}", f"{figures[1]:.2f}", f"{figures[2]:.1f}", wanted
        )
    return table


@asynccontextmanager
async def _nginx(folder: Path, fairline_port: int) -> AsyncIterator[tuple[int, int]]:
    """nginx by the documented file, and a plain way to the same pages. The ports of both."""
    shop, bare, site = free_port(), free_port(), free_port()
    found = re.search(r"^```nginx\n(.*?)^```", HOW_TO.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    if found is None:
        raise RuntimeError(f"{HOW_TO} has no configuration for nginx any more")
    documented = found[1]
    for old, new in ((8000, site), (8090, shop), (8080, fairline_port)):
        documented = documented.replace(f"127.0.0.1:{old}", f"127.0.0.1:{new}")
    config = _written(folder, FRAME.format(folder=folder, shop=shop, bare=bare, documented=documented))
    process = await asyncio.create_subprocess_exec("nginx", "-p", str(folder), "-c", str(config))
    try:
        async with asyncio.timeout(10):
            await _listening(bare)
        yield bare, site
    finally:
        process.terminate()
        await process.wait()


def _written(folder: Path, config: str) -> Path:
    folder.chmod(0o755)  # nginx's workers may not be who we are
    (folder / "pages").mkdir()
    (folder / "pages" / "page.html").write_text("<p>" + "x" * 4000, encoding="utf-8")
    file = folder / "nginx.conf"
    file.write_text(config, encoding="utf-8")
    return file


async def _listening(port: int) -> None:
    while True:
        try:
            _, writer = await asyncio.open_connection(HOST, port)
        except OSError:
            await asyncio.sleep(0.05)
        else:
            writer.close()
            return
