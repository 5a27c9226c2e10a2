"""The description of the API is true: valid, complete, and what the server does."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import httpx
import jsonschema_rs
import msgspec
import pytest
import schemathesis

from fairline.domain.settings_groups import grouped_settings
from fairline.web.description import openapi
from fairline.web.description.examples import BODIES, PATH, sample
from fairline.web.description.limits import LIMITS
from fairline.web.description.page import Docs
from fairline.web.server.problems import PROBLEMS
from tests.web.description.wild import ROWS, STREAMS, Amount, Wild, a_wild_server, answers_as_documented
from tests.web.running import RunningServer


@pytest.fixture(scope="module")
def document(server: RunningServer) -> dict[str, Any]:
    answer = httpx.get(f"{server.base_url}/openapi.json")
    assert answer.headers["content-type"] == "application/json"
    found: dict[str, Any] = answer.json()
    return found


def each_operation(document: dict[str, Any]) -> Iterator[tuple[str, str, dict[str, Any]]]:
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            yield method.upper(), path, operation


def test_the_document_is_valid_openapi(document: dict[str, Any]) -> None:
    schemathesis.openapi.from_dict(document).validate()
    for name, schema in document["components"]["schemas"].items():
        jsonschema_rs.meta.validate(schema)
        assert schema.get("description"), f"{name} is not described"
    references = re.findall(r"'\$ref': '#/([^']+)'", str(document))
    assert references
    for reference in references:
        found: Any = document
        for part in reference.split("/"):
            found = found[part]


def test_programs_can_name_every_operation(document: dict[str, Any]) -> None:
    names = [operation["operationId"] for _, _, operation in each_operation(document)]
    assert len(names) == len(set(names))
    assert all(re.fullmatch("[a-z][a-z0-9_]*", name) for name in names)


def test_what_a_path_names_is_a_parameter(document: dict[str, Any]) -> None:
    for _, path, operation in each_operation(document):
        named = {each["name"] for each in operation["parameters"] if each["in"] == "path"}
        assert named == set(re.findall(r"{(\w+)}", path))


def test_every_row_is_in_the_document_and_nothing_else(document: dict[str, Any]) -> None:
    told = {(method, path) for method, path, _ in each_operation(document)}
    assert told == {(row.method, row.path) for row in ROWS}


def test_every_problem_a_row_names_is_in_the_table() -> None:
    assert {code for row in ROWS for codes in openapi.refusals(row).values() for code in codes} <= PROBLEMS.keys()


def test_every_group_has_a_title() -> None:
    assert {row.group for row in ROWS} <= openapi.GROUPS.keys()


def test_fields_have_the_words_next_to_them_in_the_source(document: dict[str, Any]) -> None:
    fields = document["components"]["schemas"]["TicketAnswer"]["properties"]
    assert fields["position"]["description"] == "From 1; null once the ticket no longer waits."
    assert fields["joined_at"] == {"type": "string", "format": "date-time"}
    changes = document["components"]["schemas"]["QueueChanges"]["properties"]
    assert changes["claim_seconds"]["description"]


def test_the_settings_of_a_queue_stand_in_their_groups(document: dict[str, Any]) -> None:
    groups = [(name, title) for title, names in grouped_settings().items() for name in names]
    for name in ("NewQueue", "QueueChanges", "AdminQueue"):
        properties = document["components"]["schemas"][name]["properties"]
        found = [(field, schema["x-group"]) for field, schema in properties.items() if "x-group" in schema]
        assert found == groups, name
    page = Docs(ROWS, _NoAssets())._page.decode()  # type: ignore[arg-type]
    (article,) = re.findall(r'<article id="patch_admin_queues_queue">.*?</article>', page, re.DOTALL)
    cells = re.findall(r'scope="colgroup">([^<]+)<|<th scope="row"><code>(.*?)</code>', article)
    headings_and_fields = [title or re.sub("<[^>]+>", "", field) for title, field in cells]
    expected = [each for title, names in grouped_settings().items() for each in (title, *names)]
    assert headings_and_fields[-len(expected) :] == expected


#: What says nothing of its limits: clocks of clients, which are not relied on; where a stream goes on, which is only
#: compared. The names in the queries of pages are free, and what they mean to nobody is ignored.
UNLIMITED = {"HeartbeatRequest.timestamp", "last_event_id", "Last-Event-ID"}


def test_every_field_and_every_parameter_says_what_it_allows(document: dict[str, Any]) -> None:
    components = document["components"]["schemas"]
    fields = {
        f"{row.takes.__name__}.{name}": schema
        for row in ROWS
        if row.takes is not None
        for name, schema in components[row.takes.__name__].get("properties", {}).items()
    }
    found = [*fields.items()]
    for row in ROWS:
        operation = document["paths"][row.path][row.method.lower()]
        named = ((each["name"], each["schema"]) for each in operation["parameters"])
        found += [each for each in named if not row.any_query]
        assert row.takes is None or components[row.takes.__name__]["additionalProperties"] is False
    assert len(found) > 200
    open_ended = {name for name, schema in found if not _is_limited(schema)}
    assert open_ended == UNLIMITED


def _is_limited(schema: dict[str, Any]) -> bool:
    """Whether a schema says what is too long, too large or of the wrong kind, down to what is in lists and objects."""
    if "anyOf" in schema:
        return all(map(_is_limited, schema["anyOf"]))
    if schema.keys() & {"$ref", "enum", "const"}:
        return True
    match schema.get("type"):
        case "string":
            return bool(schema.keys() & {"maxLength", "pattern"}) or schema.get("format") == "date-time"
        case "integer" | "number":
            return schema.keys() >= {"minimum", "maximum"}
        case "array":
            return "maxItems" in schema and all(map(_is_limited, [schema["items"]] if schema.get("items") else []))
        case "object":
            inner = schema.get("additionalProperties")
            return "maxProperties" in schema and (not isinstance(inner, dict) or not inner or _is_limited(inner))
    return True


def test_every_limit_is_one_of_a_field_there_is(document: dict[str, Any]) -> None:
    types = {kind.__name__: kind for row in ROWS if row.takes is not None for kind in row.takes.__mro__}
    for name, fields in LIMITS.items():
        assert fields.keys() <= set(types[name].__struct_fields__), name


def test_examples_of_bodies_are_taken() -> None:
    taken = {row.takes.__name__: row.takes for row in ROWS if row.takes is not None}
    assert BODIES.keys() <= taken.keys()
    for name, kind in taken.items():
        if name in BODIES:
            msgspec.convert(BODIES[name], kind)
        else:
            assert not any(field.required for field in msgspec.structs.fields(kind)), f"{name} needs an example"


def test_examples_of_answers_are_what_the_schema_allows(document: dict[str, Any]) -> None:
    components = document["components"]["schemas"]
    for method, path, operation in each_operation(document):
        for status, answer in operation["responses"].items():
            schema = answer.get("content", {}).get("application/json", {}).get("schema")
            if schema and status.startswith("2"):
                shown = sample(schema, components)
                problem = list(jsonschema_rs.iter_errors({**schema, "components": document["components"]}, shown))
                assert not problem, f"{method} {path}: {problem}"


#: What is not for just anyone: the kiosk is locked until staff have opened it, who has no session token is sent to the
#: line, a program finds nothing at the bare address, and nothing was drawn or is planned.
WITHOUT = {
    "/join/{queue}/kiosk": 403,
    "/arrived/{queue}": 303,
    "/": 404,
    "/draws/{draw}": 404,
    "/q/{queue}/opening.ics": 404,
    "/api/v1/draws/{draw}": 404,
    "/api/v1/draws/{draw}/entries": 404,
}


def test_every_call_answers_as_documented_without_a_token(server: RunningServer, document: dict[str, Any]) -> None:
    for method, path, operation in each_operation(document):
        with httpx.stream(method, server.base_url + _filled(path)) as answer:
            if "event-stream" not in answer.headers.get("content-type", ""):  # which has no end
                answer.read()
        assert str(answer.status_code) in operation["responses"], f"{method} {path}: {answer.status_code}"
        if operation["security"]:
            assert answer.status_code == 401, f"{method} {path}: {answer.status_code}"
        elif method == "GET":
            assert answer.status_code == WITHOUT.get(path, 200), f"{method} {path}: {answer.status_code}"


def test_another_method_is_405_with_those_there_are(server: RunningServer, document: dict[str, Any]) -> None:
    for path, methods in document["paths"].items():
        answer = httpx.put(server.base_url + _filled(path))
        assert answer.status_code == 405
        assert answer.json()["code"] == "method_not_allowed"
        allowed = set(answer.headers["allow"].replace(" ", "").split(","))
        assert allowed >= {method.upper() for method in methods}, path
        assert "PUT" not in allowed


def test_an_address_with_one_slash_too_many_leads_nowhere(server: RunningServer, document: dict[str, Any]) -> None:
    for path in document["paths"]:
        answer = httpx.get(f"{server.base_url}{_filled(path)}/")
        assert (answer.status_code, answer.json()["code"]) == (404, "not_found")


def _filled(path: str) -> str:
    return re.sub(r"{(\w+)}", lambda found: PATH.get(found[1], "docs.css"), path)


def test_the_page_shows_every_call_and_asks_nobody_else(server: RunningServer, document: dict[str, Any]) -> None:
    answer = httpx.get(f"{server.base_url}/docs")
    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    assert "default-src 'none'" in answer.headers["content-security-policy"]
    page = answer.text
    for _, _, operation in each_operation(document):
        assert f'<article id="{operation["operationId"]}">' in page
    assert "<script" not in page
    assert " style=" not in page
    assert re.findall(r'(?:src|href)="(?!#|/)[^"]*"', page) == []
    targets = set(re.findall(r'href="#([^"]+)"', page))
    assert targets <= set(re.findall(r' id="([^"]+)"', page))


def test_the_files_of_the_page_never_change_under_their_address(server: RunningServer) -> None:
    page = httpx.get(f"{server.base_url}/docs").text
    (address,) = re.findall(r'href="(/static/[^"]+)"', page)
    answer = httpx.get(f"{server.base_url}{address}")
    assert answer.headers["content-type"] == "text/css; charset=utf-8"
    assert "immutable" in answer.headers["cache-control"]
    for name in ("nothing.css", "..%2fdocs.py", "%2e%2e"):
        assert httpx.get(f"{server.base_url}/static/{name}").status_code == 404


def test_our_own_text_is_shown_as_text() -> None:
    row = msgspec.structs.replace(ROWS[0], about="<script>alert(1)</script> `<b>`")
    page = Docs([row], _NoAssets())._page.decode()  # type: ignore[arg-type]
    assert "<script>" not in page
    assert "<b>`" not in page


class _NoAssets:
    def url(self, name: str) -> str:
        return f"/static/{name}"


@pytest.fixture(scope="module")
def wild(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Wild]:
    with a_wild_server(tmp_path_factory.mktemp("wild")) as found:
        yield found


#: All of it is tried by tests/attack, where long tests are asked for.
SHORT = Amount(12, 3)


@pytest.mark.parametrize("group", openapi.GROUPS)
def test_whatever_is_sent_the_answer_is_a_documented_one(wild: Wild, group: str) -> None:
    for row in ROWS:
        if row.group == group and row.path not in STREAMS:
            answers_as_documented(wild, row, SHORT)
