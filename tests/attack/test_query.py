"""No call takes a name in its query that it does not know; pages do, since links to them are marked by others."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from fairline.web.admin.series import PREVIEWED
from tests.attack.conftest import MakeQueue
from tests.web.raw import slow
from tests.web.running import RunningServer

#: What shops and newsletters add to links.
MARKS = "utm_source=letter&fbclid=x&_=1"


@pytest.fixture(scope="module")
def document(server: RunningServer) -> dict[str, Any]:
    found: dict[str, Any] = httpx.get(f"{server.base_url}/openapi.json").json()
    return found


def calls(document: dict[str, Any], *, pages: bool) -> Iterator[tuple[str, str]]:
    """The method and the address of each call, in the queue `demo`: of pages and their files, or of all others."""
    for path, methods in document["paths"].items():
        address = path.replace("{queue}", "demo").replace("{queues}", "demo").replace("{name}", "docs.css")
        for method, operation in methods.items():
            drawn = "Pages" in operation["tags"] and not path.endswith(".svg")
            if pages == (drawn or path in ("/docs", "/static/{name}")):
                yield method.upper(), re.sub(r"{\w+}", "1", address)


def test_a_name_that_a_call_does_not_know_is_refused(server: RunningServer, document: dict[str, Any]) -> None:
    found = list(calls(document, pages=False))
    assert len(found) > 70
    headers = {"authorization": f"Bearer {server.admin_key}"}
    with httpx.Client(base_url=server.base_url, headers=headers) as client:
        for method, path in found:
            for way in (path, slow(path)):
                for query in ("no_such_name=1", "Queue=demo", "no_such_name"):
                    answer = client.request(method, f"{way}?{query}")
                    status = 401 if path.endswith("/verify") else 422  # a proxy understands only yes and no
                    assert answer.status_code == status, (method, way, query, answer.text)
                    problem = answer.json()
                    assert (problem["code"], problem["field"]) == ("invalid_request", query.partition("=")[0])
                    assert "There are: " in problem["detail"]


#: Fields of forms, which may be left empty: of the size of a code, and of what settings would change.
FORMS = {"size", *PREVIEWED}


def test_a_number_that_is_left_empty_is_none(server: RunningServer, document: dict[str, Any]) -> None:
    """Or a program that lost its number would be answered as if it had asked for the usual one."""
    headers, tried = {"authorization": f"Bearer {server.admin_key}"}, 0
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            for each in operation["parameters"]:
                if each["in"] == "query" and each["schema"].get("type") == "integer" and each["name"] not in FORMS:
                    address = re.sub(r"{\w+}", "1", path.replace("{queue}", "demo"))
                    answer = httpx.request(method, f"{server.base_url}{address}?{each['name']}=", headers=headers)
                    if answer.status_code == 404:  # what the path names is not there
                        continue
                    tried += 1
                    assert (answer.status_code, answer.json()["field"]) == (422, each["name"]), (method, path)
    assert tried > 3


def test_a_page_is_reached_by_a_link_that_others_have_marked(
    server: RunningServer, document: dict[str, Any], make_queue: MakeQueue
) -> None:
    for method, path in calls(document, pages=True):
        if method == "GET":
            plain, marked = (httpx.get(f"{server.base_url}{path}{query}") for query in ("", f"?{MARKS}"))
            assert plain.status_code == marked.status_code, path


def test_a_token_in_the_query_is_taken_where_it_is_one(server: RunningServer, make_queue: MakeQueue) -> None:
    ticket = httpx.post(f"{server.base_url}/api/v1/queues/{make_queue()}/join?queue=demo").json()
    existing = httpx.get(f"{server.base_url}/api/v1/status?token={ticket['token']}")
    assert existing.json()["ticket"] == ticket["ticket"]
    other = httpx.get(f"{server.base_url}/api/v1/status?fairline_session={ticket['token']}")
    assert (other.status_code, other.json()["field"]) == (422, "fairline_session")
    session = httpx.post(f"{server.base_url}/api/v1/session/activity?fairline_session={ticket['token']}")
    assert (session.status_code, session.json()["code"]) == (401, "token_invalid")
