"""Calls to other servers: no forbidden address is called, no redirect is followed, no wait is endless."""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from fairline.domain.webhook import check_url
from fairline.errors import AddressRefused, InvalidRequest, ServiceFailed
from fairline.keeper import outbound
from fairline.keeper.outbound import ANSWER_LIMIT, certificate_ends, check_literal, is_public, send
from tests.backends import HOST, free_ports
from tests.receiver import Receiver


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    made = Receiver()
    yield made
    made.down()


async def get(url: str, **options: Any) -> outbound.Answer:
    return await send("GET", url, **{"seconds": 3, "private": True, **options})


@asynccontextmanager
async def raw(
    answer: Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]], tls: ssl.SSLContext | None = None
) -> AsyncIterator[int]:
    """A server that writes bytes as it likes."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await reader.readuntil(b"\r\n\r\n")
            await answer(reader, writer)
        except (OSError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()

    server = await asyncio.start_server(serve, HOST, 0, ssl=tls)
    async with server:
        yield server.sockets[0].getsockname()[1]


def writes(*parts: bytes, pause: float = 0.0) -> Callable[[Any, asyncio.StreamWriter], Awaitable[None]]:
    async def write(_: Any, writer: asyncio.StreamWriter) -> None:
        for part in parts:
            writer.write(part)
            await writer.drain()
            await asyncio.sleep(pause)

    return write


@pytest.mark.parametrize(
    "address",
    [
        *("127.0.0.1", "127.8.8.8", "10.0.0.1", "172.16.0.1", "192.168.1.1", "169.254.169.254", "0.0.0.0"),
        *("100.64.0.1", "224.0.0.1", "239.1.1.1", "240.0.0.1", "255.255.255.255", "192.0.2.1", "198.18.0.1"),
        *("::1", "::", "fe80::1", "fe80::1%1", "fc00::1", "fd12::1", "ff02::1", "fec0::1", "2001:db8::1"),
        *("::ffff:127.0.0.1", "::ffff:10.0.0.1", "::127.0.0.1", "2002:7f00:1::1", "2002:a00:1::", "2002:c0a8:101::"),
        *("64:ff9b::127.0.0.1", "64:ff9b::a00:1", "64:ff9b:1::8.8.8.8", "2001:0:4136:e378:8000:63bf:80ff:fffe"),
    ],
)
def test_addresses_inside_the_house_are_known_in_every_dress(address: str) -> None:
    assert not is_public(ip_address(address))


@pytest.mark.parametrize("address", ["8.8.8.8", "2606:4700::1111", "::ffff:8.8.8.8", "64:ff9b::8.8.8.8"])
def test_others_are_public(address: str) -> None:
    assert is_public(ip_address(address))


@pytest.mark.parametrize("host", [HOST, "localhost", "2130706433", "0x7f.1", "127.1", "[::ffff:127.0.0.1]", "0"])
async def test_nothing_is_sent_to_a_private_address_however_it_is_written(receiver: Receiver, host: str) -> None:
    with pytest.raises(AddressRefused, match="private"):
        await get(f"http://{host}:{receiver.port}/", private=False)
    assert receiver.letters == []


def answers(*addresses: str) -> Callable[..., list[Any]]:
    """A name server."""
    return lambda _host, port, **_: [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (each, port)) for each in addresses]


async def test_a_name_with_one_private_address_among_others_is_refused(
    receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(socket, "getaddrinfo", answers("8.8.8.8", HOST))
    with pytest.raises(AddressRefused):
        await get(f"http://evil.example:{receiver.port}/", private=False)
    assert receiver.letters == []


async def test_the_name_is_asked_for_once_and_the_address_that_was_checked_is_called(
    receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []
    real = socket.getaddrinfo

    def rebinding(host: str, port: int, **options: Any) -> Any:
        if host != "shop.example":
            return real(host, port, **options)
        asked.append(host)
        return answers(HOST if len(asked) == 1 else "192.0.2.1")(host, port)

    monkeypatch.setattr(socket, "getaddrinfo", rebinding)
    assert (await get(f"http://shop.example:{receiver.port}/a?b=c d")).ok
    assert asked == ["shop.example"]
    (letter,) = receiver.letters
    assert (letter.path, letter.headers["host"]) == ("/a?b=c%20d", f"shop.example:{receiver.port}")


async def test_a_redirect_is_an_answer_like_any_other(receiver: Receiver) -> None:
    other = Receiver()
    receiver.answer = lambda _: (307, {"location": other.url}, b"")
    assert (await get(receiver.url)).status == 307
    assert other.letters == []
    other.down()


async def test_proxies_of_the_environment_are_ignored(receiver: Receiver, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "HTTP_PROXY", "ALL_PROXY"):
        monkeypatch.setenv(name, f"http://{HOST}:9")
    assert (await get(receiver.url)).ok


async def test_the_next_address_of_a_name_is_tried(receiver: Receiver, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(socket, "getaddrinfo", answers("127.0.0.9", HOST))
    assert (await get(f"http://shop.example:{receiver.port}/")).ok


async def test_a_server_that_is_not_there_or_not_itself_fails_with_a_short_word(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    (port,) = free_ports(1)
    with pytest.raises(ServiceFailed, match="no connection: "):
        await get(f"http://{HOST}:{port}/")
    with pytest.raises(ServiceFailed, match="no address: "):
        await get(f"http://{'a' * 64}.example/")
    with pytest.raises(ServiceFailed, match="neither"):
        await get("file:///etc/passwd")


@pytest.mark.parametrize("url", ["http://[foo/", "http://a:99999999/", "http://a:x/", "https://[::1/"])
async def test_an_address_that_is_none_fails_as_a_service_does(url: str) -> None:
    with pytest.raises(ServiceFailed, match="not valid"):
        await get(url)


async def test_a_long_name_may_have_a_port_behind_it(receiver: Receiver, monkeypatch: pytest.MonkeyPatch) -> None:
    real = socket.getaddrinfo
    monkeypatch.setattr(
        socket, "getaddrinfo", lambda host, port, **options: real(HOST if "a" in host else host, port, **options)
    )
    name = "a" * 63
    assert (await get(f"http://{name}:{receiver.port}/")).ok
    (letter,) = receiver.letters
    assert letter.headers["host"] == f"{name}:{receiver.port}"


async def test_what_the_connection_says_of_an_address_fails_so_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(socket, "getaddrinfo", answers("not an address"))
    with pytest.raises(ServiceFailed, match="not valid"):
        await get("http://shop.example/", private=False)


async def test_one_deadline_is_for_all_of_it() -> None:
    async with raw(writes(*[b"x"] * 100, pause=0.02)) as port:
        with pytest.raises(ServiceFailed, match=r"no answer within 0\.2 s|not valid HTTP"):
            await get(f"http://{HOST}:{port}/", seconds=0.2)
    async with raw(writes(b"", pause=1)) as port:
        with pytest.raises(ServiceFailed, match="no answer within"):
            await get(f"http://{HOST}:{port}/", seconds=0.2)


async def test_an_answer_counts_though_its_body_does_not_end() -> None:
    async with raw(writes(b"HTTP/1.1 200 OK\r\ncontent-length: 1000\r\n\r\n", *[b"x"] * 50, pause=0.02)) as port:
        answer = await get(f"http://{HOST}:{port}/", seconds=0.3)
    assert (answer.status, answer.body[:1]) == (200, b"x")


async def test_what_is_announced_first_is_passed_over() -> None:
    first = b"HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n"
    last = b"HTTP/1.1 204 No Content\r\nx-last: yes\r\n\r\n"
    async with raw(writes(first, last)) as port:
        answer = await get(f"http://{HOST}:{port}/")
    assert (answer.status, answer.headers) == (204, {"x-last": "yes"})


async def test_an_endless_answer_is_read_up_to_the_limit() -> None:
    async with raw(writes(b"HTTP/1.1 200 OK\r\n\r\n", *[b"x" * 65_536] * 50)) as port:
        answer = await get(f"http://{HOST}:{port}/")
    assert answer.ok
    assert len(answer.body) < 2 * ANSWER_LIMIT
    async with raw(writes(b"HTTP/1.1 200 OK\r\n", *[b"a: " + b"x" * 60_000 + b"\r\n"] * 50)) as port:
        with pytest.raises(ServiceFailed):
            await get(f"http://{HOST}:{port}/")


@pytest.mark.parametrize("answer", [b"SSH-2.0-OpenSSH_9\r\n", b"", b"HTTP/1.1 abc\r\n\r\n", b"\x00" * 100])
async def test_what_is_not_http_fails_with_a_short_word(answer: bytes) -> None:
    async with raw(writes(answer)) as port:
        with pytest.raises(ServiceFailed, match=r"not valid HTTP|closed") as failed:
            await get(f"http://{HOST}:{port}/")
    assert b"OpenSSH" not in failed.value.message.encode()


def certificate(folder: Path) -> Path:
    """A key and a certificate for shop.example, signed by itself."""
    key, now = ec.generate_private_key(ec.SECP256R1()), datetime.now(UTC)
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "shop.example")])
    made = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - timedelta(hours=1))
        .not_valid_after(now + timedelta(hours=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName("shop.example")]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .sign(key, hashes.SHA256())
    )
    pem, kind = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8
    file = folder / "shop.pem"
    file.write_bytes(made.public_bytes(pem) + key.private_bytes(pem, kind, serialization.NoEncryption()))
    return file


async def test_the_certificate_must_be_for_the_name_though_the_address_is_called(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = certificate(tmp_path)
    serving = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    serving.load_cert_chain(file)
    trusting = ssl.create_default_context(cafile=str(file))
    monkeypatch.setattr(socket, "getaddrinfo", answers(HOST))
    async with raw(writes(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n"), serving) as port:
        assert (await get(f"https://shop.example:{port}/", tls=trusting)).ok
        with pytest.raises(ServiceFailed, match="no secure connection"):
            await get(f"https://other.example:{port}/", tls=trusting)
        with pytest.raises(ServiceFailed, match="no secure connection"):
            await get(f"https://shop.example:{port}/")


async def test_the_end_of_a_certificate_is_read_if_it_is_valid_for_the_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = certificate(tmp_path)
    serving = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    serving.load_cert_chain(file)
    trusting = ssl.create_default_context(cafile=str(file))
    monkeypatch.setattr(socket, "getaddrinfo", answers(HOST))
    expected = x509.load_pem_x509_certificate(file.read_bytes()).not_valid_after_utc.timestamp()
    async with raw(writes(b""), serving) as port:
        url = f"https://shop.example:{port}/"
        assert await certificate_ends(url, seconds=20, private=True, tls=trusting) == expected
        with pytest.raises(ServiceFailed, match="no secure connection"):
            await certificate_ends(url, seconds=20, private=True)
        with pytest.raises(AddressRefused):
            await certificate_ends(url, seconds=20, private=False, tls=trusting)


@pytest.mark.parametrize(
    "url",
    [
        *("", "example.com", "ftp://example.com/", "http://", "https:///path", "http://user:pw@example.com/"),
        *(
            "http://example.com/#top",
            "http://example.com:99999/",
            "http://exa mple.com/",
            "http://example.com/\r\nx: y",
        ),
        *(
            "http://[::1/",
            "javascript:alert(1)",
            "http://example.com:0/",
            "http://bücher.example/",
            "http://a/" + "b" * 2000,
        ),
    ],
)
def test_only_a_plain_web_address_can_be_a_webhook(url: str) -> None:
    with pytest.raises(InvalidRequest, match="url"):
        check_url(url)


def test_a_private_address_is_refused_where_it_is_named_outright() -> None:
    for url in ("http://127.0.0.1/", "http://[::1]:80/", "https://localhost/", "http://a.localhost/"):
        with pytest.raises(AddressRefused):
            check_literal(url, private=False)
        check_literal(url, private=True)
    check_literal("https://example.com/", private=False)
