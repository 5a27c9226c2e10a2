"""The shop with a proxy in front of it, set up with the very files that the how-tos show."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import httpx

from tests.backends import HOST, free_ports, wait_until
from tests.site.visitor import Site
from tests.web.running import RunningServer

DOCS = Path(__file__).parents[2] / "docs" / "how-to"
NGINX_FRAME = """daemon off; worker_processes 1; error_log {folder}/error.log; pid {folder}/nginx.pid;
events {{ worker_connections 2048; }}
http {{ access_log off; client_body_temp_path {folder}/1; proxy_temp_path {folder}/2; fastcgi_temp_path {folder}/3;
uwsgi_temp_path {folder}/4; scgi_temp_path {folder}/5;
{servers}
}}"""


def documented(page: str, language: str) -> str:
    """The one block of code in this language on a page of the how-tos."""
    text = (DOCS / page).read_text(encoding="utf-8")
    (block,) = re.findall(rf"^```{language}\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    return str(block)


def at_ports(config: str, *, site: int, shop: int, fairline: int) -> str:
    """A documented file with the ports of a test."""
    for documented_port, port in ((8000, site), (8090, shop), (8080, fairline)):
        config = config.replace(f"127.0.0.1:{documented_port}", f"127.0.0.1:{port}")
    return config


@contextmanager
def shop(fairline_url: str, folder: Path, stock: int) -> Iterator[int]:
    """The shop of examples/, as a process. Its port."""
    (port,) = free_ports(1)
    command = [sys.executable, "-m", "examples.shop.serve", "--port", str(port), "--fairline", fairline_url]
    with running([*command, "--stock", str(stock)], folder, port):
        yield port


@contextmanager
def running(command: list[str], folder: Path, port: int, cwd: Path | None = None) -> Iterator[None]:
    """A process that listens on a port, until it is not needed any more."""
    with (folder / f"{Path(command[0]).name}-{port}.log").open("wb") as log:
        process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd=cwd or Path(__file__).parents[2]
        )
    try:
        wait_until(lambda: _listens(process, port, log.name), f"{command[0]} does not listen; see {log.name}")
        yield
    finally:
        process.terminate()
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _listens(process: subprocess.Popen[bytes], port: int, log: str) -> bool:
    assert process.poll() is None, Path(log).read_text(encoding="utf-8")
    try:
        httpx.get(f"http://{HOST}:{port}/", timeout=2)
    except httpx.TransportError:
        return False
    return True


@contextmanager
def nginx(folder: Path, fairline_port: int, shop_port: int) -> Iterator[str]:
    """nginx by the documented file. The address of the site."""
    (port,) = free_ports(1)
    config = documented("protect-a-site-with-nginx.md", "nginx")
    servers = at_ports(config, site=port, shop=shop_port, fairline=fairline_port)
    file = folder / "nginx.conf"
    file.write_text(NGINX_FRAME.format(folder=folder, servers=servers), encoding="utf-8")
    with running(["nginx", "-p", str(folder), "-c", str(file)], folder, port):
        yield f"http://{HOST}:{port}"


@contextmanager
def caddy(folder: Path, fairline_port: int, shop_port: int) -> Iterator[str]:
    """Caddy by the documented file."""
    (port,) = free_ports(1)
    config = documented("protect-a-site-with-another-proxy.md", "caddy")
    file = folder / "Caddyfile"
    file.write_text(at_ports(config, site=port, shop=shop_port, fairline=fairline_port), encoding="utf-8")
    with running(["caddy", "run", "--config", str(file), "--adapter", "caddyfile"], folder, port):
        yield f"http://{HOST}:{port}"


@contextmanager
def haproxy(folder: Path, fairline_port: int, shop_port: int) -> Iterator[str]:
    """HAProxy by the documented files."""
    (port,) = free_ports(1)
    for name, language in (("fairline.lua", "lua"), ("haproxy.cfg", "haproxy")):
        config = documented("protect-a-site-with-another-proxy.md", language)
        at_these = at_ports(config, site=port, shop=shop_port, fairline=fairline_port)
        (folder / name).write_text(at_these, encoding="utf-8")
    with running(["haproxy", "-db", "-f", "haproxy.cfg"], folder, port, cwd=folder):
        yield f"http://{HOST}:{port}"


Proxy = Callable[[Path, int, int], AbstractContextManager[str]]


@contextmanager
def site(proxy: Proxy, folder: Path, fairline: RunningServer, stock: int) -> Iterator[Site]:
    """The shop behind a proxy that asks Fairline."""
    with shop(fairline.base_url, folder, stock) as port, proxy(folder, fairline.port, port) as url:
        yield Site(url, port, fairline.base_url)
