"""Cases of the rules about what was declared and what a version has."""

from __future__ import annotations

from tests.trace.lint.acts import FORM, Case, input_required, listening, logs, negotiated, new, old, update
from tests.trace.lint.kit import Talk

PAGE = {"mode": "url", "message": "?", "url": "https://h", "elicitationId": "e"}
MEANING = [
    *(
        Case(
            "undeclared-notification",
            lambda method=method, params=params: old(server={"tools": {}, "resources": {}}).notice(method, **params),
            lambda method=method, params=params: old().notice(method, **params),
        )
        for method, params in (
            ("notifications/tools/list_changed", {}),
            ("notifications/prompts/list_changed", {}),
            ("notifications/resources/list_changed", {}),
            ("notifications/message", {"level": "info", "data": "x"}),
        )
    ),
    *(
        Case(
            "undeclared-request",
            lambda method=method, client=client, params=params: old(client=client).asked(method, **params),
            lambda method=method, params=params: old().asked(method, **params),
        )
        for method, client, params in (
            ("roots/list", {}, {}),
            ("elicitation/create", {}, FORM["params"]),
            ("elicitation/create", {"elicitation": {}}, PAGE),
            ("sampling/createMessage", {"sampling": {}}, {"messages": [], "maxTokens": 9, "tools": []}),
        )
    ),
    Case(
        "undeclared-request",
        lambda: new(client={}).called("tools/call", {"resultType": "input_required", "inputRequests": {"a": FORM}}),
        lambda: input_required("tools/call", inputRequests={"a": FORM}),
    ),
    Case("undeclared-use", lambda: old(server={}).ask("tools/list"), lambda: old().ask("tools/list")),
    Case("undeclared-use", lambda: old(server={"resources": {}}).ask("resources/subscribe"), lambda: old().ask("ping")),
    Case("not-subscribed", lambda: update(False), lambda: update(True)),
    Case("log-not-asked", lambda: logs(False), lambda: logs(True)),
    Case(
        "log-level",
        lambda: old().notice("notifications/message", level="loud", data="x"),
        lambda: old().notice("notifications/message", level="alert", data="x"),
    ),
    Case("subscription-id", lambda: listening(identity=None), listening),
    Case("subscription-id", lambda: listening(identity=77), listening),
    Case("subscription-ack", lambda: listening(False), listening),
    Case("subscription-filter", lambda: listening(promptsListChanged=True), listening),
    Case(
        "method-not-in-version",
        lambda: Talk("2024-11-05").asked("elicitation/create"),
        lambda: old().asked("elicitation/create", **FORM["params"]),
    ),
    Case(
        "method-not-in-version",
        lambda: new().notice("notifications/elicitation/complete"),
        lambda: old().notice("notifications/elicitation/complete", elicitationId="e"),
    ),
    Case("method-not-in-version", lambda: new().ask("ping"), lambda: old().ask("ping")),
    Case("unknown-method", lambda: old().asked("no/such"), lambda: old().asked("ping")),
    Case(
        "unknown-notification",
        lambda: old().notice("notifications/hologram"),
        lambda: old().notice("notifications/cancelled", requestId=1),
    ),
    Case(
        "unknown-version",
        lambda: negotiated("1999-01-01"),
        lambda: negotiated("2025-03-26"),
    ),
    Case("server-request", lambda: new().asked("roots/list"), lambda: old().asked("roots/list")),
]
