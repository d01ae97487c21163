"""Whatever a server sends, the lint says what it thinks and never fails."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mcp_studio.trace.lint.examiner import Job, check
from tests.trace.lint.kit import EVERYTHING, META, MODERN, Talk

WORDS = (
    "jsonrpc id method params result error code message tools name inputSchema type content text uri contents _meta "
    "icons src annotations audience priority nextCursor ttlMs cacheScope resultType inputRequests requestState "
    "structuredContent progressToken progress total level data capabilities serverInfo protocolVersion completion "
    "messages role arguments notifications resources resourceTemplates prompts task x-mcp-header properties values"
)
KEYS = st.sampled_from([*WORDS.split(), META + "subscriptionId", META + "serverInfo", ""])
VALUES: st.SearchStrategy[Any] = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=8)
    | st.sampled_from(["2.0", "tools/list", "notifications/progress", "input_required", "complete", "2025-11-25"]),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(KEYS, inner, max_size=5),
    max_leaves=20,
)
METHODS = (
    *("initialize", "server/discover", "tools/list", "tools/call", "resources/list", "resources/read"),
    *("resources/templates/list", "prompts/list", "prompts/get", "completion/complete", "subscriptions/listen"),
)
NOTICES = (
    *("notifications/progress", "notifications/message", "notifications/resources/updated"),
    *("notifications/tools/list_changed", "notifications/subscriptions/acknowledged", "notifications/cancelled"),
)


@pytest.mark.parametrize("version", ["2025-11-25", MODERN])
@settings(max_examples=25, deadline=None)
@given(message=VALUES | st.dictionaries(KEYS, VALUES, max_size=5))
def test_any_message(version: str, message: Any) -> None:
    talk = Talk(version)
    talk.ask("tools/call", {"name": "t"}, meta={"progressToken": 2})
    talk.hear(message)
    talk.hear(json.dumps(message).encode("utf-16"))
    assert all(finding.section and finding.text for finding in talk.newest.findings)


@pytest.mark.parametrize("method", METHODS)
@settings(max_examples=15, deadline=None)
@given(value=st.dictionaries(KEYS, VALUES, max_size=5))
def test_any_result(method: str, value: dict[str, Any]) -> None:
    for version in ("2025-11-25", MODERN):
        talk = Talk(version)
        talk.ask(method, {"name": "t"})
        talk.answer(value)
        check(Job("in", "result", method, version, talk.newest.body))


@pytest.mark.parametrize("method", NOTICES)
@settings(max_examples=20, deadline=None)
@given(params=st.dictionaries(KEYS, VALUES, max_size=5))
def test_any_notification(method: str, params: dict[str, Any]) -> None:
    for version in ("2025-11-25", MODERN):
        talk = Talk(version)
        talk.ask("subscriptions/listen", {"notifications": params})
        talk.hear({"jsonrpc": "2.0", "method": method, "params": params})
        check(Job("in", "notification", method, version, talk.newest.body))


@settings(max_examples=25, deadline=None)
@given(capabilities=VALUES)
def test_any_declaration(capabilities: Any) -> None:
    talk = Talk(negotiate=False)
    talk.ask("initialize", {"protocolVersion": "2025-11-25", "capabilities": capabilities})
    shake = {"protocolVersion": "2025-11-25", "capabilities": capabilities, "serverInfo": EVERYTHING}
    talk.answer(shake)
    talk.notice("notifications/tools/list_changed")
    talk.asked("sampling/createMessage", tools=[])
    assert len(talk.store) == 4
