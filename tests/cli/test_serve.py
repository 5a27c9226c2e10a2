"""What `fairline serve` prints at a start, and what somebody finds who opens the addresses it prints."""

from __future__ import annotations

import stat
from pathlib import Path

import httpx

from tests.backends import free_ports, wait_until
from tests.cli.typed import fairline
from tests.web.running import RunningServer

KEY = "a-key-that-was-set-0123456789abcdef"
TOLD = "data folder"


def test_a_server_tells_where_its_data_and_key_are_and_its_demo_leads_to_a_page_of_its_own(tmp_path: Path) -> None:
    running = RunningServer(tmp_path, workers=1, environ={"FAIRLINE_ADMIN_KEY": KEY})
    log = tmp_path / "server.log"
    try:
        wait_until(lambda: TOLD in log.read_text(encoding="utf-8"), f"nothing is told in {log}")
        told = log.read_text(encoding="utf-8")
        assert KEY not in told
        assert "from FAIRLINE_ADMIN_KEY" in told
        assert str(running.data) in told
        assert "fairline queue pause demo" in told
        admin = httpx.Client(headers={"authorization": f"Bearer {KEY}"})
        demo = "/api/v1/admin/queues/demo"
        with admin, httpx.Client(headers={"accept": "text/html", "user-agent": "Browser/1.0"}) as someone:
            _check_home(someone, running.base_url)
            _check_arrival(someone, admin, running.base_url)

            # Where an operator has sent it, it stays, and so it is after a start at another port.
            site = {"target_url": "https://shop.example/"}
            admin.patch(running.base_url + demo, json=site).raise_for_status()
            (running.port,) = free_ports(1)
            running.restart()
            base = f"http://{running.host}:{running.port}"
            assert admin.get(base + demo).json()["target_url"] == site["target_url"]
    finally:
        running.stop()


def _check_home(someone: httpx.Client, base: str) -> None:
    page = someone.get(base)
    assert page.status_code == 200
    assert 'href="/admin"' in page.text
    assert "demo" not in page.text.lower()
    for accept in ("*/*", "application/json"):
        program = someone.get(base, headers={"accept": accept})
        assert (program.status_code, program.json()["code"]) == (404, "not_found")


def _check_arrival(someone: httpx.Client, admin: httpx.Client, base: str) -> None:
    """In by the session token, which does not stay in the address; and only by one of this queue that is still good."""
    token = someone.post(f"{base}/api/v1/queues/demo/join", json={}).json()["token"]
    headers = {"authorization": f"Bearer {token}"}
    answer: dict[str, str] = {}

    def is_admitted() -> bool:
        answer.update(someone.get(f"{base}/api/v1/status", headers=headers).json())
        return answer["status"] == "admitted"

    wait_until(is_admitted, "nobody is let in")
    admin.post(f"{base}/api/v1/admin/queues", json={"id": "other"}).raise_for_status()
    elsewhere = someone.get(f"{base}/arrived/other", params={"fairline_session": answer["session_token"]})
    assert elsewhere.headers["location"] == "/q/other"
    arrived = someone.get(answer["redirect_url"])
    assert (arrived.status_code, arrived.headers["location"]) == (303, "/arrived/demo")
    assert someone.get(f"{base}/arrived/demo").headers["x-fairline-state"] == "arrived"
    with httpx.Client(headers={"user-agent": "Another/1.0"}) as thief:
        assert thief.get(answer["redirect_url"]).headers["x-fairline-state"] == "link_used"
    left = someone.post(f"{base}/arrived/demo", data={"do": "leave"})
    assert left.headers["location"] == "/q/demo"
    assert someone.get(f"{base}/api/v1/status", headers=headers).json()["reason"] == "left"
    assert someone.get(f"{base}/arrived/demo").headers["location"] == "/q/demo"


def test_the_first_queue_is_shown_at_a_start_only_where_there_is_one(tmp_path: Path) -> None:
    running = RunningServer(tmp_path, workers=1)
    ready, log = "Fairline is ready.", tmp_path / "server.log"

    def restart(times: int) -> None:
        wait_until(lambda: log.read_text(encoding="utf-8").count(ready) == times, f"it is not ready; see {log}")
        running.restart()

    try:
        with httpx.Client(headers={"authorization": f"Bearer {running.admin_key}"}) as admin:
            queues = f"{running.base_url}/api/v1/admin/queues"
            assert admin.post(queues, json={"id": "sale"}).status_code == 201
            restart(1)
            assert admin.delete(f"{queues}/demo").status_code == 204
            restart(2)
        wait_until(lambda: log.read_text(encoding="utf-8").count(ready) == 3, f"it is not ready; see {log}")
    finally:
        running.stop()
    *with_it, without_it = log.read_text(encoding="utf-8").split(ready)[1:]
    for told in with_it:
        assert f"{running.base_url}/q/demo" in told
        assert "queues/demo/join" in told
    assert f"{running.base_url}/admin" in without_it
    assert "demo" not in without_it


def test_a_port_in_use_is_said_at_once(server: RunningServer, tmp_path: Path) -> None:
    done = fairline("serve", "--port", str(server.port), "--data", str(tmp_path))
    assert done.returncode == 1
    assert "--port" in done.stderr


def test_a_folder_in_use_is_said_at_once(server: RunningServer) -> None:
    done = fairline("serve", "--port", "0", "--data", str(server.data))
    assert done.returncode == 1
    assert str(server.process.pid) in done.stderr


def test_secrets_are_for_the_owner_alone(server: RunningServer) -> None:
    for name in ("secret", "admin-key"):
        assert stat.S_IMODE((server.data / name).stat().st_mode) == 0o600
