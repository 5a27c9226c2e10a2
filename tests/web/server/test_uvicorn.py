"""The fast path is built into a class of uvicorn's that is no public interface. These tests tell when a release moves
what it leans on, before anything subtler does; the others in this folder tell whether it still behaves."""

from __future__ import annotations

import ast
import asyncio
import inspect
import tomllib
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path

import httptools
import pytest
import uvicorn
from packaging.requirements import Requirement
from packaging.version import Version
from uvicorn.protocols.http.flow_control import FlowControl
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle
from uvicorn.server import ServerState

from fairline.web.server import connection, connection_state, fast_cycle, fast_path
from fairline.web.server.connection import Connection
from fairline.web.server.connection_state import ConnectionState
from fairline.web.server.fast_cycle import FastCycle
from fairline.web.server.fast_path import FastPath

#: The methods of uvicorn's protocol that the fast path overrides, calls or is called by, with their parameters.
METHODS = {
    "connection_made": ["transport"],
    "connection_lost": ["exc"],
    "data_received": ["data"],
    "eof_received": [],
    "pause_writing": [],
    "resume_writing": [],
    "shutdown": [],
    "on_message_begin": [],
    "on_url": ["url"],
    "on_header": ["name", "value"],
    "on_headers_complete": [],
    "on_body": ["body"],
    "on_message_complete": [],
    "on_response_complete": [],
    "_start_asgi_task": ["cycle", "app"],
}
#: What it finds there of a connection and of a request.
ATTRIBUTES = {
    "app",
    "client",
    "connections",
    "cycle",
    "expect_100_continue",
    "flow",
    "headers",
    "parser",
    "pipeline",
    "scheme",
    "scope",
    "server_state",
    "transport",
}
#: Set when a request begins, so that a new connection has it not.
LATER = {"url"}
#: What it reads or sets on a request that has gone on to ASGI.
CYCLE = {"disconnected", "keep_alive", "message_event", "response_complete", "response_started"}

#: The modules of the fast path's own classes.
PATH_MODULES = (connection_state, connection, fast_path)


@pytest.fixture
def protocol() -> Iterator[HttpToolsProtocol]:
    loop = asyncio.new_event_loop()
    config = uvicorn.Config(lambda: None, log_config=None, loop="none", ws="none", lifespan="off")
    yield HttpToolsProtocol(config, ServerState(), {}, loop)
    loop.close()


@pytest.mark.parametrize("name", METHODS)
def test_a_method_of_the_protocol_is_there(name: str) -> None:
    method = vars(HttpToolsProtocol)[name]
    assert list(inspect.signature(method).parameters)[1:] == METHODS[name]


def test_the_attributes_of_the_protocol_are_there(protocol: HttpToolsProtocol) -> None:
    assert vars(protocol).keys() >= ATTRIBUTES
    protocol.on_message_begin()
    assert vars(protocol).keys() >= LATER
    assert protocol.scope["headers"] is protocol.headers
    assert protocol.connections is protocol.server_state.connections
    assert vars(protocol.server_state).keys() >= {"connections", "default_headers", "total_requests"}


def test_nothing_else_of_the_protocol_is_used(protocol: HttpToolsProtocol) -> None:
    """What the fast path says of itself is its own or in the lists above, and uvicorn has none of our names."""
    used = {
        node.attr
        for module, name in (*((each, "self") for each in PATH_MODULES), (fast_cycle, "protocol"))
        for node in ast.walk(ast.parse(inspect.getsource(module)))
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == name
    }
    classes = (FastPath, Connection, ConnectionState)
    written = [*map(vars, classes), *(each.__annotations__ for each in classes)]
    ours = set().union(*written) - set(dir(HttpToolsProtocol)) - vars(protocol).keys()
    listed = METHODS.keys() | ATTRIBUTES | LATER
    assert used - ours <= listed
    overridden = {
        name for of in written[: len(classes)] for name, value in of.items() if inspect.isfunction(value)
    } - ours
    assert overridden - {"__init__"} <= METHODS.keys()
    assert listed <= used | overridden, "something is listed that is not used any more"


def test_a_request_of_uvicorns_has_all_that_the_fast_path_reads() -> None:
    source = inspect.getsource(RequestResponseCycle.__init__)
    for name in CYCLE:
        assert f"self.{name}" in source
    assert {"disconnected", "keep_alive", "message_event", "response_complete"} <= set(dir(FastCycle))
    parameters = inspect.signature(RequestResponseCycle.__init__).parameters
    assert {"flow", "keep_alive", "message_event", "on_response"} <= set(parameters)


def test_the_flow_of_a_connection_is_what_it_was() -> None:
    """Ours makes the event when it is needed, so it has to know of all there is."""
    flow = FlowControl(None)  # type: ignore[arg-type]
    assert vars(flow).keys() == {"_transport", "read_paused", "write_paused", "_is_writable_event"}
    assert (flow.read_paused, flow.write_paused, flow._is_writable_event.is_set()) == (False, False, True)
    for name in ("pause_reading", "resume_reading", "pause_writing", "resume_writing"):
        assert list(inspect.signature(getattr(FlowControl, name)).parameters) == ["self"]


def test_the_parser_has_what_is_asked_of_it() -> None:
    class Protocol:
        pass

    parser = httptools.HttpRequestParser(Protocol())
    parser.feed_data(b"POST /a?b=c HTTP/1.1\r\nconnection: close\r\ncontent-length: 1\r\n\r\n")
    assert (parser.get_method(), parser.get_http_version()) == (b"POST", "1.1")
    assert (parser.should_keep_alive(), parser.should_upgrade()) == (False, False)
    upgrade = b"GET / HTTP/1.1\r\nconnection: upgrade\r\nupgrade: h2c\r\n\r\n"
    with pytest.raises(httptools.HttpParserUpgrade) as raised:
        httptools.HttpRequestParser(Protocol()).feed_data(upgrade + b"rest")
    assert raised.value.args == (len(upgrade),)


@pytest.mark.parametrize("name", ["uvicorn", "httptools"])
def test_what_is_installed_is_what_is_pinned(name: str) -> None:
    pyproject = tomllib.loads((Path(__file__).parents[3] / "pyproject.toml").read_text(encoding="utf-8"))
    requirements = [Requirement(text) for text in pyproject["project"]["dependencies"]]
    (pinned,) = (each for each in requirements if each.name == name)
    assert version(name) in pinned.specifier


def test_the_next_minor_release_of_uvicorn_is_not_taken_unseen() -> None:
    pyproject = tomllib.loads((Path(__file__).parents[3] / "pyproject.toml").read_text(encoding="utf-8"))
    (pinned,) = (each for each in map(Requirement, pyproject["project"]["dependencies"]) if each.name == "uvicorn")
    found = Version(version("uvicorn"))
    assert f"{found.major}.{found.minor + 1}.0" not in pinned.specifier
    assert f"{found.major + 1}.0.0" not in pinned.specifier
