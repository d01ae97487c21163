"""What we declare decides what a server may ask, whatever we could answer."""

from __future__ import annotations

from typing import Any

import pytest

from mcp_studio.protocol.versions import INVALID_PARAMS, METHOD_NOT_FOUND
from mcp_studio.session.server_requests import undeclared
from tests.studio_support import call, opened, stdio, text
from tests.support import python_server, wait_until

RAW = python_server("raw_server")
MODERN = python_server("raw_server", "--modern")


@pytest.mark.parametrize(
    ("capabilities", "method", "params", "code"),
    [
        ({}, "elicitation/create", {}, METHOD_NOT_FOUND),
        ({"sampling": {}}, "elicitation/create", {}, METHOD_NOT_FOUND),
        ({"elicitation": {}}, "elicitation/create", {}, None),
        ({"elicitation": {}}, "elicitation/create", {"mode": "form"}, None),
        ({"elicitation": {}}, "elicitation/create", {"mode": "url"}, INVALID_PARAMS),
        ({"elicitation": {"url": {}}}, "elicitation/create", {"mode": "form"}, INVALID_PARAMS),
        ({"elicitation": {"url": {}}}, "elicitation/create", {"mode": "url"}, None),
        ({"elicitation": {"form": {}, "url": {}}}, "elicitation/create", {}, None),
        ({}, "sampling/createMessage", {}, METHOD_NOT_FOUND),
        ({"sampling": {}}, "sampling/createMessage", {}, None),
        ({"sampling": {}}, "sampling/createMessage", {"tools": []}, INVALID_PARAMS),
        ({"sampling": {"tools": {}}}, "sampling/createMessage", {"tools": []}, None),
        ({}, "roots/list", {}, METHOD_NOT_FOUND),
        ({"roots": None}, "roots/list", {}, None),
        ({}, "tasks/get", {}, METHOD_NOT_FOUND),
        ({}, "ping", {}, None),
        (None, "no/such", {}, None),
        ("nonsense", "roots/list", {}, METHOD_NOT_FOUND),
    ],
)
def test_only_what_is_declared_is_answered(capabilities: Any, method: str, params: Any, code: int | None) -> None:
    refusal = undeclared(capabilities, method, params)
    assert (refusal[0] if refusal else None) == code


@pytest.mark.parametrize("argv", [RAW, MODERN])
async def test_capabilities_and_client_info_of_the_entry_go_over_the_wire(argv: list[str]) -> None:
    config = stdio(argv, capabilities={"experimental": {"x": {}}}, client_info={"name": "else", "version": "9"})
    async with opened(config) as studio:
        status = studio.manager.status("s")
        assert status.state == "ready", status.error
        assert status.declared == {"experimental": {"x": {}}} and status.client_info == config.client_info
        sent = b"".join(entry.body for entry in studio.trace if entry.direction == "out")
        assert b'"experimental":{"x":{}}' in sent and b'"name":"else"' in sent
        assert b'"mcp-studio"' not in sent


async def test_a_question_that_is_not_declared_is_refused_though_it_could_be_answered() -> None:
    async with opened(stdio(RAW, capabilities={}), can_ask=True) as studio:
        answer = text(await call(studio, "ask"))
        assert str(METHOD_NOT_FOUND) in answer and "declared" in answer
        assert not studio.inbox.pending


async def test_more_declared_than_can_be_answered_is_refused_when_it_is_asked_for() -> None:
    async with opened(stdio(RAW, capabilities={"elicitation": {}}), can_ask=False) as studio:
        assert str(METHOD_NOT_FOUND) in text(await call(studio, "ask"))


async def test_a_pin_does_not_change_what_is_tried_first_without_it() -> None:
    argv = python_server("sdk_everything")
    for more, modern in (
        ({}, True),
        ({"protocol_version": "2025-03-26"}, False),
        ({"era": "legacy"}, False),
        ({}, True),
    ):
        async with opened(stdio(argv, **more)) as studio:
            assert studio.manager.status("s").modern is modern, more
            await wait_until(lambda: studio.catalog.entries("tool"))


async def test_a_server_that_answers_with_another_version_is_warned_about_and_goes_on() -> None:
    config = stdio(python_server("raw_faults", "--fault", "old-version"), protocol_version="2025-06-18")
    async with opened(config) as studio:
        await wait_until(lambda: studio.manager.status("s").warnings)
        status = studio.manager.status("s")
        assert (status.version, status.offered) == ("2024-11-05", "2025-06-18")
        assert "2024-11-05" in status.warnings[0] and "2025-06-18" in status.warnings[0]
