"""The lint at work: servers that break the rules over stdio and HTTP, and servers that break none."""

from __future__ import annotations

import asyncio
from collections.abc import Generator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

import pytest

from mcp_studio.catalog.listing import KINDS, Ref
from mcp_studio.config.model import ServerConfig, Timeouts
from mcp_studio.session.connection import Deadline
from mcp_studio.session.inbox import InputRequest
from mcp_studio.studio import Studio
from tests.servers.http_kit import child
from tests.servers.http_raw import RawServer, Reply, Request
from tests.studio_support import call, http, opened, stdio
from tests.support import npm_server, python_server, wait_until
from tests.support_servers import demo_stdio, http_server, running

FAULTS = {
    "bad-tool": {"missing-field", "tool-schema", "wrong-type", "tool-name"},
    "duplicate-names": {"duplicate-name"},
    "bad-cursor": {"cursor-type"},
    "stray": {"stdout-noise"},
    "batch": {"batch", "orphan-response"},
    "invalid-utf8": {"invalid-utf8"},
    "string-id": {"response-id-type"},
    "null-id": {"response-without-id"},
    "duplicate-response": {"duplicate-response"},
    "orphan-response": {"orphan-response"},
    "result-and-error": {"result-and-error"},
    "no-jsonrpc": {"jsonrpc-version"},
    "null-result": {"result-object"},
    "bad-error": {"error-object"},
    "bad-error-code": {"error-object", "error-code"},
    "unknown-content": {"content-block", "wrong-type"},
    "schema-mismatch": {"output-mismatch"},
    "unknown-notification": {"unknown-notification"},
    "big-progress": {"progress-type"},
    "truncated": {"not-json"},
    "nan": {"not-json"},
    "duplicate-keys": {"duplicate-key"},
}
"""Fault of `raw_faults.py` -> the rules that it breaks, and no others."""


def rules(studio: Studio) -> set[str]:
    return {group.first.rule for group in studio.trace.ledger("s").groups()}


QUICK = Timeouts(30.0, 2.0, 20.0)
"""Some faults leave a call without an answer."""


@pytest.mark.parametrize("fault", FAULTS)
async def test_a_server_with_one_fault_breaks_the_rules_of_that_fault_alone(fault: str) -> None:
    async with opened(stdio(python_server("raw_faults", "--fault", fault), timeouts=QUICK)) as studio:
        await call(studio, "echo", text="a")
        await studio.trace.examine("s")
        await wait_until(lambda: rules(studio) == FAULTS[fault], what=f"{FAULTS[fault]}, not {rules(studio)}")
        # Nothing is said twice: what the session warns of as well stands on its message.
        warnings = studio.manager.status("s").warnings
        assert studio.trace.ledger("s").uncovered(warnings) == ()
        assert not any(b"the server" in entry.body for entry in studio.trace if entry.kind == "note")


LINES = {
    "id-type": '{"jsonrpc":"2.0","id":null,"method":"ping"}',
    "params-type": '{"jsonrpc":"2.0","method":"notifications/message","params":[1]}',
    "unknown-member": '{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":9},"extra":1}',
    "notification-id": '{"jsonrpc":"2.0","id":1,"method":"notifications/tools/list_changed"}',
    "log-level": '{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"loud","data":1}}',
    "not-subscribed": '{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"a://b"}}',
    "undeclared-request": '{"jsonrpc":"2.0","id":"a","method":"roots/list"}',
    "unknown-method": '{"jsonrpc":"2.0","id":"b","method":"no/such"}',
    "progress-without-token": (
        '{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"x","progress":1}}'
    ),
    "progress-not-increasing": (
        '{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":$TOKEN,"progress":5}}\n'
        '{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":$TOKEN,"progress":4}}'
    ),
    "invalid-utf8": '{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"reason":"\udcff"}}',
    "progress-after-end": (
        '{"jsonrpc":"2.0","id":$ID,"result":{"content":[]}}\n'
        '{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":$TOKEN,"progress":9}}'
    ),
}
"""Rule -> what a server writes that breaks it."""


@pytest.mark.parametrize("rule", LINES)
async def test_what_a_server_writes_is_found_on_its_message(rule: str) -> None:
    config = stdio(python_server("raw_script"), capabilities={"elicitation": {"form": {}}})
    async with opened(config) as studio:
        lines = [LINES[rule], '{"jsonrpc":"2.0","id":$ID,"result":{"content":[]}}']
        await call(studio, "say", lines=lines[: 1 if rule == "progress-after-end" else 2])
        await wait_until(lambda: rule in rules(studio), what=f"{rule} in {rules(studio)}")
        entry = next(one for one in studio.trace if any(found.rule == rule for found in one.findings))
        assert entry.direction == "in" and entry.findings[0].number == entry.number


@pytest.mark.parametrize(
    ("rule", "line"),
    [
        ("server-request", '{"jsonrpc":"2.0","id":"a","method":"roots/list"}'),
        ("log-not-asked", '{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":1}}'),
        ("subscription-id", '{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}'),
        ("method-not-in-version", '{"jsonrpc":"2.0","method":"notifications/elicitation/complete","params":{}}'),
        ("result-type", '{"jsonrpc":"2.0","id":$ID,"result":{"content":[],"resultType":"hologram"}}'),
        ("input-required", '{"jsonrpc":"2.0","id":$ID,"result":{"resultType":"input_required"}}'),
        ("error-code-reserved", '{"jsonrpc":"2.0","id":$ID,"error":{"code":-32002,"message":"no such resource"}}'),
    ],
)
async def test_the_same_in_the_stateless_era(rule: str, line: str) -> None:
    async with opened(stdio(python_server("raw_script", "--modern"))) as studio:
        last = '{"jsonrpc":"2.0","id":$ID,"result":{"content":[],"resultType":"complete"}}'
        await call(studio, "say", lines=[line] if "$ID" in line else [line, last])
        await wait_until(lambda: rule in rules(studio), what=f"{rule} in {rules(studio)}")


def wrong_http(kind: str) -> Any:
    """A handler that does the handshake over HTTP and one thing wrong."""
    shake = {"protocolVersion": "2025-11-25", "capabilities": {}, "serverInfo": {"name": "s", "version": "1"}}

    async def handle(request: Request, reply: Reply) -> None:
        method = request.json.get("method") if request.body else ""
        if method == "initialize":
            await reply.result(shake, *(["Mcp-Session-Id: a b"] if kind == "http-session" else []))
        elif method == "notifications/initialized" and kind == "http-accepted":
            await reply.body("200 OK", b'{"jsonrpc":"2.0","method":"notifications/cancelled"}')
        elif method == "ping" and kind == "http-content-type":
            await reply.body("200 OK", b'{"jsonrpc":"2.0"}', kind="text/plain")
        elif method == "ping" and kind == "sse-event":
            await reply.stream()
            await reply.event({"jsonrpc": "2.0", "method": "notifications/cancelled"}, "event: other")
            await reply.event({"jsonrpc": "2.0", "id": request.json["id"], "result": {}})
            reply.close()
        elif request.method != "POST":
            await reply.head("405 Method Not Allowed", "Content-Length: 0")
        elif "id" in request.json:
            await reply.result({})
        else:
            await reply.accepted()

    return handle


@pytest.mark.parametrize("rule", ["http-session", "http-accepted", "http-content-type", "sse-event", ""])
async def test_what_is_wrong_with_http_is_found_on_its_head_or_frame(rule: str) -> None:
    async with RawServer(wrong_http(rule)) as server, opened(http(server.url, era="legacy")) as studio:
        asking = studio.manager.connection("s").request("ping", deadline=Deadline(2, 2))
        await asyncio.gather(asking, return_exceptions=True)
        if rule:
            await wait_until(lambda: rule in rules(studio), what=f"{rule} in {rules(studio)}")
        assert rules(studio) <= {rule}


# ------------------------------------------------------------------ servers that are right

_STUBS: dict[str, Any] = {"string": "a", "number": 1, "integer": 1, "boolean": True, "array": [], "object": {}}
_LEFT_OUT = {
    *("fail_by_exception", "fail_by_leaving", "fail_output_schema", "show_wrong_structure"),  # wrong on purpose
    *("wait_for_parcel", "trigger-long-running-operation", "simulate-research-query", "leave", "slow", "crash", "wait"),
    *("gzip-file-as-resource", "trigger-sampling-request", "trigger-sampling-request-async", "ask_model", "big"),
}
"""Tools that break rules on purpose, take long, or need the net or a model."""
_AT_ONCE = {"take_stock": {"seconds_per_shelf": 0}, "bind_edition": {"seconds_per_copy": 0}}
"""What keeps tools from taking seconds."""


def arguments(schema: Any) -> dict[str, Any]:
    """Something for each required argument."""
    known: dict[str, Any] = schema if isinstance(schema, dict) else {}
    given: dict[str, Any] = {}
    for name in known.get("required", ()):
        part: dict[str, Any] = known.get("properties", {}).get(name, {})
        given[name] = part["enum"][0] if "enum" in part else _STUBS.get(str(part.get("type")), "a")
    return given


async def use(studio: Studio) -> None:
    """Call and read all that a server offers; whatever it asks is declined."""

    def decline(_: InputRequest) -> None:
        for question in studio.inbox.pending:
            asyncio.get_running_loop().call_soon(question.answer, "decline")

    studio.inbox.changed.connect(decline)
    offered = {kind: studio.catalog.listing("s", kind).entries for kind in KINDS}
    assert offered["tool"], studio.manager.status("s")
    for entry in offered["tool"]:
        if entry.ref.name not in _LEFT_OUT:
            given = {**arguments(entry.view.raw.get("inputSchema")), **_AT_ONCE.get(entry.ref.name, {})}
            going = studio.call_tool(entry.ref, given, approved=True)
            try:
                await asyncio.wait_for(asyncio.shield(going.wait()), 3)
            except TimeoutError:
                going.cancel()
                await going.wait()
    for entry in offered["resource"]:
        await studio.read_resource("s", entry.ref.name).wait()
    for entry in offered["prompt"]:
        given = {one["name"]: "a" for one in entry.view.raw.get("arguments") or ()}
        await studio.get_prompt(Ref("prompt", "s", entry.ref.name), given).wait()


@contextmanager
def over_sse() -> Generator[str]:
    """The SDK's server over HTTP+SSE."""
    with child("older") as (_, port):
        yield f"http://127.0.0.1:{port}/sse"


@contextmanager
def over_websocket() -> Generator[str]:
    """The SDK's server behind a WebSocket."""
    with running(python_server("ws_sdk")) as server:
        yield server.url


def served(name: str) -> AbstractContextManager[list[str] | str]:
    """A good server: an argv for stdio, or a URL."""
    match name:
        case "sdk over HTTP+SSE":
            return over_sse()
        case "sdk over WebSocket":
            return over_websocket()
        case "demo":
            return nullcontext(demo_stdio())
        case "sdk over HTTP":
            return http_server()
        case "raw":
            return nullcontext(python_server("raw_server"))
        case _:
            return nullcontext(npm_server(name))


OLD = ("everything", "sdk over HTTP+SSE", "sdk over WebSocket", "raw")
"""Asked in the handshake era."""
NEW = ("demo", "sdk over HTTP", "raw")
LAPSES = {"sdk over HTTP+SSE": {"undeclared-notification"}}
"""What servers do wrong indeed: this one tells of changed tools and does not declare it."""


@pytest.mark.parametrize(("name", "era"), [*((name, "legacy") for name in OLD), *((name, "modern") for name in NEW)])
async def test_a_good_server_lints_clean(name: str, era: Any) -> None:
    with served(name) as where:
        more: Any = {"era": era}
        if name == "raw" and era == "modern" and isinstance(where, list):
            where = [*where, "--modern"]
        config: ServerConfig = http(where, **more) if isinstance(where, str) else stdio(where, **more)
        async with opened(config) as studio:
            await use(studio)
            await studio.trace.examine("s")
            found = [(one, entry.body[:300]) for entry in studio.trace for one in entry.findings]
            lapses = LAPSES.get(name, set())
            assert [one for one in found if one[0].severity != "hint" and one[0].rule not in lapses] == []
            assert studio.trace.ledger("s").uncovered(studio.manager.status("s").warnings) == ()
