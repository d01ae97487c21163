"""Rules about what a server says by itself: logs, changes, and the subscriptions of the stateless era."""

from __future__ import annotations

from mcp_studio.jsontext import Json, items_of, mapping
from mcp_studio.protocol.versions import LOG_LEVELS, META_SUBSCRIPTION
from mcp_studio.trace.lint.finding import Spot
from mcp_studio.trace.lint.requests import Requests, Running
from mcp_studio.trace.lint.words import kind_of, quoted

_FILTERS = {
    "notifications/tools/list_changed": "toolsListChanged",
    "notifications/prompts/list_changed": "promptsListChanged",
    "notifications/resources/list_changed": "resourcesListChanged",
    "notifications/resources/updated": "resourceSubscriptions",
}
"""Notices that a modern server sends on a subscription, and the member of the filter that asks for them."""
_ACK = "notifications/subscriptions/acknowledged"
_LEVELS = frozenset(LOG_LEVELS)


class Subscribed:
    """The resources that we subscribed to in the handshake era."""

    def __init__(self) -> None:
        self._uris: set[str] = set()

    def add(self, uri: str) -> None:
        """We subscribed. That it may end is not followed: an update that comes a little late is no fault."""
        self._uris.add(uri)

    def wants(self, uri: str) -> bool:
        """Whether an update of it is expected; one of something inside a subscribed resource is."""
        return uri in self._uris or any(uri.startswith(other) for other in self._uris)


def check_log(params: dict[str, Json], requests: Requests, modern: bool) -> list[Spot]:
    """`notifications/message`: a level, data, and in the stateless era only where a request asked for logs."""
    spots: list[Spot] = []
    level = params.get("level")
    if not isinstance(level, str) or level not in _LEVELS:
        what = quoted(level) if "level" in params else "missing"
        spots.append(
            Spot("log-level", f"The level is {what}; it must be one of the eight of RFC 5424.", "/params/level")
        )
    if "data" not in params:
        spots.append(Spot("missing-field", "The log message has no data.", "/params", "server/utilities/logging"))
    logger = params.get("logger", "")
    if not isinstance(logger, str):
        spots.append(Spot("wrong-type", f"The logger is {kind_of(logger)}; it must be a string.", "/params/logger"))
    if modern and not requests.wants_logs():
        spots.append(Spot("log-not-asked", "A log message came, though no open request carries a log level."))
    return spots


def check_change(
    method: str, params: dict[str, Json], requests: Requests, subscribed: Subscribed, modern: bool
) -> list[Spot]:
    """Notices of change: sent only to who asked, and named after the subscription."""
    spots: list[Spot] = []
    if method == "notifications/resources/updated" and not isinstance(params.get("uri"), str):
        text = "The update does not say which resource (uri)."
        spots.append(Spot("missing-field", text, "/params/uri", "server/resources#subscriptions"))
    if modern and (method in _FILTERS or method == _ACK):
        return spots + _on_subscription(method, params, requests)
    if method == "notifications/resources/updated" and not spots and not subscribed.wants(params["uri"]):
        spots.append(Spot("not-subscribed", "An update came of a resource that nobody subscribed to.", "/params/uri"))
    return spots


def _on_subscription(method: str, params: dict[str, Json], requests: Requests) -> list[Spot]:
    where = "/params/_meta"
    meta = params.get("_meta")
    identity = mapping(meta).get(META_SUBSCRIPTION)
    if identity is None:
        return [Spot("subscription-id", f"{method} does not say to which subscription it belongs.", where)]
    running = requests.listening().get(identity) if isinstance(identity, (int, str)) else None
    if running is None:
        if isinstance(identity, (int, str)) and requests.knows(identity):
            return []  # it was ended; the server could not know in time
        return [Spot("subscription-id", f"{method} names a subscription that does not exist.", where)]
    if method == _ACK:
        running.acknowledged = True
        return []
    spots: list[Spot] = []
    if not running.acknowledged:
        text = "A notice came before the subscription was acknowledged."
        spots.append(Spot("subscription-ack", text, "", "basic/patterns/subscriptions#acknowledgment"))
    if not _asked_for(method, params, running):
        text = f"{method} was not asked for by the subscription."
        spots.append(Spot("subscription-filter", text, "", "basic/patterns/subscriptions#notification-filter"))
    return spots


def _asked_for(method: str, params: dict[str, Json], running: Running) -> bool:
    wanted = running.filter.get(_FILTERS[method])
    if method != "notifications/resources/updated":
        return wanted is True
    uris = items_of(wanted)
    uri = str(params.get("uri"))
    return any(isinstance(other, str) and uri.startswith(other) for other in uris)
