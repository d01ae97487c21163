"""The methods of each version, and the capabilities that they need (specification, schema; basic, "Capabilities")."""

from __future__ import annotations

from typing import NamedTuple

from mcp_studio.jsontext import Json, mapping
from mcp_studio.protocol.versions import LATEST_HANDSHAKE, LATEST_MODERN, VERSIONS
from mcp_studio.trace.lint.rules import Spot, quoted


class Availability(NamedTuple):
    """The versions that have a method, and the capability that it needs."""

    first: str = VERSIONS[0]
    """The first version with the method."""
    last: str = VERSIONS[-1]
    """The last version with the method."""
    needs: str = ""
    """The capability, and the part of it after a dot: `tools.listChanged`."""

    @property
    def section(self) -> str:
        """The section of the specification that demands the capability."""
        name = self.needs.partition(".")[0]
        return f"{_PAGES.get(name, f'server/{name}')}#capabilities" if name else ""

    def has(self, version: str) -> bool:
        """Whether a version has the method."""
        return self.first <= version <= self.last


_PAGES = {name: f"client/{name}" for name in ("roots", "sampling", "elicitation")} | {
    "logging": "server/utilities/logging"
}
"""Pages of the specification on capabilities whose names differ from the pages'."""
_HANDSHAKE = Availability(last=LATEST_HANDSHAKE)
_MODERN = Availability(LATEST_MODERN)
_ONLY_2025_11 = Availability("2025-11-25", "2025-11-25")
_TOOLS, _PROMPTS = Availability(needs="tools"), Availability(needs="prompts")
_RESOURCES = Availability(needs="resources")
_SUBSCRIBE = Availability(last=LATEST_HANDSHAKE, needs="resources.subscribe")

CLIENT_REQUESTS: dict[str, Availability] = {
    "initialize": _HANDSHAKE,
    "ping": _HANDSHAKE,
    "logging/setLevel": Availability(last=LATEST_HANDSHAKE, needs="logging"),
    "resources/subscribe": _SUBSCRIBE,
    "resources/unsubscribe": _SUBSCRIBE,
    "server/discover": _MODERN,
    "subscriptions/listen": _MODERN,
    "tasks/result": _ONLY_2025_11,
    "tasks/list": _ONLY_2025_11,
    "tasks/get": Availability("2025-11-25"),
    "tasks/cancel": Availability("2025-11-25"),
    "tasks/update": _MODERN,
    "tools/list": _TOOLS,
    "tools/call": _TOOLS,
    "prompts/list": _PROMPTS,
    "prompts/get": _PROMPTS,
    "resources/list": _RESOURCES,
    "resources/read": _RESOURCES,
    "resources/templates/list": _RESOURCES,
    "completion/complete": Availability(needs="completions"),
}
_SERVER_REQUESTS: dict[str, Availability] = {
    "ping": _HANDSHAKE,
    "roots/list": Availability(last=LATEST_HANDSHAKE, needs="roots"),
    "sampling/createMessage": Availability(last=LATEST_HANDSHAKE, needs="sampling"),
    "elicitation/create": Availability("2025-06-18", LATEST_HANDSHAKE, "elicitation"),
    "tasks/get": _ONLY_2025_11,
    "tasks/result": _ONLY_2025_11,
    "tasks/list": _ONLY_2025_11,
    "tasks/cancel": _ONLY_2025_11,
}
_SERVER_NOTIFICATIONS: dict[str, Availability] = {
    "notifications/progress": Availability(),
    "notifications/cancelled": Availability(),
    "notifications/message": Availability(needs="logging"),
    "notifications/tools/list_changed": Availability(needs="tools.listChanged"),
    "notifications/prompts/list_changed": Availability(needs="prompts.listChanged"),
    "notifications/resources/list_changed": Availability(needs="resources.listChanged"),
    "notifications/resources/updated": Availability(needs="resources.subscribe"),
    "notifications/elicitation/complete": _ONLY_2025_11,
    "notifications/tasks/status": _ONLY_2025_11,
    "notifications/tasks": _MODERN,
    "notifications/subscriptions/acknowledged": _MODERN,
}
INPUT_REQUESTS = ("elicitation/create", "sampling/createMessage", "roots/list")
"""The requests that a server may put into a result (2026-07-28)."""


def check_notification(method: str, version: str, capabilities: Json) -> list[Spot]:
    """Check whether a server may send a notification."""
    known = _SERVER_NOTIFICATIONS.get(method)
    if known is None:
        return [Spot("unknown-notification", f"No version knows the notification {quoted(method)}.", "/method")]
    if version and not known.has(version):
        return [_foreign(method, version)]
    if version and not declares(capabilities, known.needs):
        text = f"{method} needs {known.needs}, which was not declared."
        return [Spot("undeclared-notification", text, "", known.section)]
    return []


def check_request(method: str, params: dict[str, Json], version: str, capabilities: Json) -> list[Spot]:
    """Check whether a server may send a request to us, who declared `capabilities`."""
    if version == LATEST_MODERN:
        return [Spot("server-request", f"{method[:80]} is a request; servers of {version} send none.", "/method")]
    known = _SERVER_REQUESTS.get(method)
    if known is None:
        return [Spot("unknown-method", f"No version lets a server ask for {quoted(method)}.", "/method")]
    if version and not known.has(version):
        return [_foreign(method, version)]
    return check_asking(method, params, capabilities)


def check_asking(method: str, params: dict[str, Json], capabilities: Json, where: str = "") -> list[Spot]:
    """Check whether we declared what a server asks for, also in an `input_required` result, at the pointer `where`."""
    known = _SERVER_REQUESTS[method]
    needs = [known.needs]
    if method == "elicitation/create" and params.get("mode") == "url":
        needs.append("elicitation.url")
    if method == "sampling/createMessage" and ("tools" in params or "toolChoice" in params):
        needs.append("sampling.tools")
    missing = next((name for name in needs if not declares(capabilities, name)), "")
    if not missing:
        return []
    return [Spot("undeclared-request", f"{method} needs {missing}, which we did not declare.", where, known.section)]


def check_use(method: str, version: str, capabilities: Json) -> list[Spot]:
    """Check whether we may send a request to a server that declared `capabilities`."""
    known = CLIENT_REQUESTS.get(method)
    if known is None:
        return []  # a method of a server's own, sent on purpose
    if not known.has(version):
        return [_foreign(method, version)]
    if declares(capabilities, known.needs) or (known.needs == "completions" and version == VERSIONS[0]):
        return []
    return [Spot("undeclared-use", f"We sent {method}, but the server did not declare {known.needs}.", "/method")]


def declares(capabilities: Json, needs: str) -> bool:
    """Whether capabilities contain a name, and the part of it after the dot; an empty need is always met."""
    name, _, part = needs.partition(".")
    found = mapping(capabilities).get(name)
    inner = mapping(found).get(part) if part else found
    return not needs or (inner is not None and inner is not False)


def _foreign(method: str, version: str) -> Spot:
    return Spot("method-not-in-version", f"{method} does not exist in version {version}.", "/method")
