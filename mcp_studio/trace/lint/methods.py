"""Which methods each version has, and which capability they need (specification, schema; basic, "Capabilities")."""

from __future__ import annotations

from typing import NamedTuple

from mcp_studio.jsontext import Json, mapping
from mcp_studio.protocol.versions import EXTENSION_TASKS, VERSIONS, at_least
from mcp_studio.trace.lint.rules import Spot, quoted

_MODERN = "2026-07-28"
_TASKS = frozenset({"tasks/get", "tasks/result", "tasks/list", "tasks/cancel"})


class Span(NamedTuple):
    """The first and last version that has a method."""

    first: str = VERSIONS[0]
    last: str = VERSIONS[-1]

    def has(self, version: str) -> bool:
        """Whether a version has it."""
        return at_least(version, self.first) and at_least(self.last, version)


_ALWAYS = Span()
_HANDSHAKE = Span(last="2025-11-25")
_ONLY_2025_11 = Span("2025-11-25", "2025-11-25")

CLIENT_REQUESTS: dict[str, Span] = {
    "initialize": _HANDSHAKE,
    "ping": _HANDSHAKE,
    "logging/setLevel": _HANDSHAKE,
    "resources/subscribe": _HANDSHAKE,
    "resources/unsubscribe": _HANDSHAKE,
    "server/discover": Span(_MODERN),
    "subscriptions/listen": Span(_MODERN),
    "tasks/result": _ONLY_2025_11,
    "tasks/list": _ONLY_2025_11,
    "tasks/get": Span("2025-11-25"),
    "tasks/cancel": Span("2025-11-25"),
    "tasks/update": Span(_MODERN),
    **dict.fromkeys(
        (
            *("tools/list", "tools/call", "prompts/list", "prompts/get", "resources/list", "resources/read"),
            *("resources/templates/list", "completion/complete"),
        ),
        _ALWAYS,
    ),
}
SERVER_REQUESTS: dict[str, Span] = {
    "ping": _HANDSHAKE,
    "roots/list": _HANDSHAKE,
    "sampling/createMessage": _HANDSHAKE,
    "elicitation/create": Span("2025-06-18", "2025-11-25"),
    **dict.fromkeys(_TASKS, _ONLY_2025_11),
}
SERVER_NOTIFICATIONS: dict[str, Span] = {
    **dict.fromkeys(
        (
            *("notifications/message", "notifications/progress", "notifications/cancelled"),
            *("notifications/resources/updated", "notifications/resources/list_changed"),
            *("notifications/tools/list_changed", "notifications/prompts/list_changed"),
        ),
        _ALWAYS,
    ),
    "notifications/elicitation/complete": _ONLY_2025_11,
    "notifications/tasks/status": _ONLY_2025_11,
    "notifications/tasks": Span(_MODERN),
    "notifications/subscriptions/acknowledged": Span(_MODERN),
}

_NOTIFICATION_NEEDS: dict[str, tuple[str, str, str]] = {
    "notifications/message": ("logging", "", "server/utilities/logging#capabilities"),
    "notifications/tools/list_changed": ("tools", "listChanged", "server/tools#capabilities"),
    "notifications/prompts/list_changed": ("prompts", "listChanged", "server/prompts#capabilities"),
    "notifications/resources/list_changed": ("resources", "listChanged", "server/resources#capabilities"),
    "notifications/resources/updated": ("resources", "subscribe", "server/resources#capabilities"),
}
_REQUEST_NEEDS: dict[str, tuple[str, str]] = {
    "roots/list": ("roots", "client/roots#capabilities"),
    "sampling/createMessage": ("sampling", "client/sampling#capabilities"),
    "elicitation/create": ("elicitation", "client/elicitation#capabilities"),
}
_USE_NEEDS: dict[str, tuple[str, str]] = {
    **dict.fromkeys(("tools/list", "tools/call"), ("tools", "")),
    **dict.fromkeys(("prompts/list", "prompts/get"), ("prompts", "")),
    **dict.fromkeys(("resources/list", "resources/read", "resources/templates/list"), ("resources", "")),
    **dict.fromkeys(("resources/subscribe", "resources/unsubscribe"), ("resources", "subscribe")),
    "logging/setLevel": ("logging", ""),
    "completion/complete": ("completions", ""),
}


def check_notification(method: str, version: str, capabilities: Json) -> list[Spot]:
    """Whether a server may send this notification."""
    span = SERVER_NOTIFICATIONS.get(method)
    if span is None:
        return [Spot("unknown-notification", f"No version knows the notification {quoted(method)}.", "/method")]
    if version and not span.has(version):
        return [_foreign(method, version)]
    if method in _NOTIFICATION_NEEDS:
        name, part, section = _NOTIFICATION_NEEDS[method]
        if version and not declares(capabilities, name, part):
            what = f"{name}.{part}" if part else name
            return [Spot("undeclared-notification", f"{method} needs {what}, which was not declared.", "", section)]
    return []


def check_request(method: str, params: dict[str, Json], version: str, capabilities: Json) -> list[Spot]:
    """Whether a server may ask this of us, who declared `capabilities`."""
    if version == _MODERN:
        return [Spot("server-request", f"{method[:80]} is a request; servers of {version} send none.", "/method")]
    span = SERVER_REQUESTS.get(method)
    if span is None:
        return [Spot("unknown-method", f"No version lets a server ask for {quoted(method)}.", "/method")]
    if version and not span.has(version):
        return [_foreign(method, version)]
    return check_asking(method, params, capabilities)


def check_asking(method: str, params: dict[str, Json], capabilities: Json, where: str = "") -> list[Spot]:
    """Whether what a server asks for was declared; also inside an `input_required` result, which stands at `where`."""
    if method not in _REQUEST_NEEDS:
        return []
    name, section = _REQUEST_NEEDS[method]
    needs = name
    if declares(capabilities, name):
        if method == "elicitation/create" and params.get("mode") == "url":
            needs = "elicitation.url"
        elif method == "sampling/createMessage" and ("tools" in params or "toolChoice" in params):
            needs = "sampling.tools"
        if needs == name or declares(capabilities, *needs.split(".")):
            return []
    return [Spot("undeclared-request", f"{method} needs {needs}, which we did not declare.", where, section)]


def check_use(method: str, version: str, capabilities: Json) -> list[Spot]:
    """Whether we may send this request to a server that declared `capabilities`."""
    span = CLIENT_REQUESTS.get(method)
    if span is None:
        return []  # somebody's own method, tried on purpose
    if not span.has(version):
        return [_foreign(method, version)]
    if method not in _USE_NEEDS or (method == "completion/complete" and not at_least(version, "2025-03-26")):
        return []
    name, part = _USE_NEEDS[method]
    if declares(capabilities, name, part):
        return []
    what = f"{name}.{part}" if part else name
    return [Spot("undeclared-use", f"We sent {method}, but the server did not declare {what}.", "/method")]


def declares(capabilities: Json, name: str, part: str = "") -> bool:
    """Whether capabilities name one, and the part of it: an object or true."""
    found = mapping(capabilities).get(name)
    if not part:
        return found is not None
    inner = mapping(found).get(part)
    return inner is not None and inner is not False


def has_tasks(capabilities: Json) -> bool:
    """Whether the tasks extension of 2026-07-28 is declared."""
    return declares(capabilities, "extensions", EXTENSION_TASKS)


def _foreign(method: str, version: str) -> Spot:
    return Spot("method-not-in-version", f"{method} does not exist in version {version}.", "/method")
