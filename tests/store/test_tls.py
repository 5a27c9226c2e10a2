"""A store over TLS: what is sent is encrypted, and the certificate of the server is checked."""

from __future__ import annotations

import datetime
import ipaddress
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
import redis
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from fairline.domain.queue import QueueId
from fairline.domain.queue_settings import QueueSettings
from fairline.errors import StoreUnavailable
from fairline.store import open_store
from tests.backends import HOST, free_ports, wait_until

SERVER = shutil.which("redis-server")
pytestmark = pytest.mark.skipif(SERVER is None, reason="redis-server is not there; the embedded one has no TLS")


def certificate(folder: Path) -> None:
    """A key and a certificate for loopback, which signs itself."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "store")])
    now = datetime.datetime.now(datetime.UTC)
    signed = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address(HOST))]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    kept = serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    (folder / "key.pem").write_bytes(key.private_bytes(serialization.Encoding.PEM, *kept))
    (folder / "cert.pem").write_bytes(signed.public_bytes(serialization.Encoding.PEM))


@contextmanager
def server(folder: Path, *, cluster: bool) -> Iterator[str]:
    """A server that speaks TLS alone, and the rest of an address that trusts its certificate."""
    certificate(folder)
    port, bus = free_ports(2)
    files = ["--tls-cert-file", "cert.pem", "--tls-key-file", "key.pem", "--tls-ca-cert-file", "cert.pem"]
    options = ["--bind", HOST, "--port", "0", "--tls-port", str(port), "--tls-auth-clients", "no", "--save", "", *files]
    if cluster:
        options += ["--cluster-enabled", "yes", "--cluster-port", str(bus), "--tls-cluster", "yes"]
        options += ["--cluster-announce-ip", HOST]
    process = subprocess.Popen([str(SERVER), *options, "--logfile", "log"], cwd=folder)
    client: Any = redis.Redis(host=HOST, port=port, ssl=True, ssl_ca_certs=str(folder / "cert.pem"))

    def answers() -> bool:
        assert process.poll() is None, (folder / "log").read_text(encoding="utf-8")
        try:
            return bool(client.ping())
        except redis.RedisError:
            return False

    try:
        wait_until(answers, "the server does not answer")
        if cluster:
            client.execute_command("CLUSTER", "ADDSLOTSRANGE", 0, 16383)
            wait_until(
                lambda: b"cluster_state:ok" in client.execute_command("CLUSTER", "INFO", NEVER_DECODE=True),
                "the cluster is not well",
            )
        yield f"{HOST}:{port}?ssl_ca_certs={quote(str(folder / 'cert.pem'))}"
    finally:
        client.close()
        process.terminate()
        process.wait(30)


@pytest.mark.parametrize("scheme", ["valkeys", "valkeys+cluster"])
async def test_a_store_over_tls_works_if_its_certificate_is_trusted_and_only_then(scheme: str, tmp_path: Path) -> None:
    with server(tmp_path, cluster=scheme.endswith("cluster")) as rest:
        store = await open_store(f"{scheme}://{rest}")
        try:
            await store.create(QueueId("sale"), QueueSettings())
            assert await store.queues() == [QueueId("sale")]
        finally:
            await store.close()
        with pytest.raises(StoreUnavailable):
            await open_store(f"{scheme}://{rest.partition('?')[0]}")
        with pytest.raises(StoreUnavailable):
            await open_store(f"{scheme.replace('valkeys', 'valkey')}://{rest.partition('?')[0]}")
