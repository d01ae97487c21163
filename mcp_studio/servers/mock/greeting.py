"""How the recorded server introduced itself; made up from what was recorded where the recording begins later."""

from __future__ import annotations

from mcp_studio.jsontext import Json, mapping
from mcp_studio.protocol.versions import (
    HANDSHAKE_VERSIONS,
    LATEST_HANDSHAKE,
    MODERN_VERSIONS,
    UNSUPPORTED_VERSION,
)
from mcp_studio.servers.mock.tape import Tape

_FEATURES = {
    "tools": ("tools/",), "resources": ("resources/",), "prompts": ("prompts/",), "completions": ("completion/",),
    "logging": ("logging/",),
}  # fmt: skip
_LISTED = {
    "tools/list": ("tools", "tools/call", "name"), "prompts/list": ("prompts", "prompts/get", "name"),
    "resources/list": ("resources", "resources/read", "uri"), "resources/templates/list": ("resourceTemplates", "", ""),
}  # fmt: skip
"""Lists, the member that holds their items, and the requests and their parameter that items are made of."""


class Greeting:
    """Answers the handshake and the discovery of one tape.

    Args:
        name: what the server was called.
    """

    def __init__(self, tape: Tape, name: str) -> None:
        self._tape = tape
        self._name = name
        self.handshakes = {
            str(result.get("protocolVersion")): take.number
            for take in tape.all("initialize")
            if (result := tape.result(take)).get("protocolVersion")
        }
        """The versions that were agreed on by handshake, and the request that did."""
        self.discovered = [take.number for take in tape.all("server/discover") if tape.result(take)]
        """The requests for discovery that had a result."""
        modern = dict.fromkeys(version for method in tape.requests for version in _stamped(tape, method))
        self.modern = tuple(version for version in modern if version in MODERN_VERSIONS) if self.discovered else ()
        """The stateless versions that it was spoken to in."""
        self.made_up = not self.handshakes and not self.discovered
        """The recording does not say how the server introduced itself."""
        known = max((*self.handshakes.values(), *self.discovered), default=0)
        self.offers = mapping(tape.result(tape.take(known)).get("capabilities")) if known else {}
        """The capabilities that it last told of."""
        if self.made_up:
            self.modern = tuple(version for version in modern if version in MODERN_VERSIONS)

    @property
    def versions(self) -> tuple[str, ...]:
        """All versions that it speaks."""
        return (*self.handshakes, *self.modern) or (LATEST_HANDSHAKE,)

    def initialize(self, params: dict[str, Json]) -> int | dict[str, Json]:
        """The recorded handshake that fits best, by its number; else the message with the answer."""
        wanted = str(params.get("protocolVersion", ""))
        if self.handshakes:
            return self.handshakes.get(wanted) or self.handshakes[max(self.handshakes)]
        if self.modern:
            return self.unsupported(wanted)
        version = wanted if wanted in HANDSHAKE_VERSIONS else LATEST_HANDSHAKE
        info: dict[str, Json] = {"name": self._name, "version": "recorded"}
        return {"result": {"protocolVersion": version, "capabilities": self._capabilities(), "serverInfo": info}}

    def discover(self) -> int | dict[str, Json]:
        """The recorded discovery by its number; else the message with the answer."""
        if self.discovered:
            return self.discovered[-1]
        if self.modern:
            return {"result": {
                "resultType": "complete", "supportedVersions": list(self.modern), "capabilities": self._capabilities(),
                "ttlMs": 0, "cacheScope": "private",
            }}  # fmt: skip
        return {"error": {"code": -32601, "message": "Method not found: server/discover"}}

    def unsupported(self, wanted: str) -> dict[str, Json]:
        """What a version is answered with that was not recorded."""
        data: dict[str, Json] = {"supported": list(self.versions), "requested": wanted}
        return {"error": {"code": UNSUPPORTED_VERSION, "message": "Unsupported protocol version", "data": data}}

    def listing(self, method: str) -> dict[str, Json] | None:
        """A list that was not recorded, made of what was asked for; None where it was recorded, or is no list."""
        if method not in _LISTED or method in self._tape.requests or not self.made_up:
            return None
        member, asked, key = _LISTED[method]
        names = dict.fromkeys(self._tape.params(take.number).get(key) for take in self._tape.all(asked))
        items: list[Json] = [_item(name, member, key) for name in names if isinstance(name, str)]
        return {"result": {member: items}}

    def _capabilities(self) -> dict[str, Json]:
        asked = tuple(self._tape.requests)
        return {
            feature: {} for feature, starts in _FEATURES.items() if any(method.startswith(starts) for method in asked)
        }


def _item(name: str, member: str, key: str) -> dict[str, Json]:
    more: dict[str, Json] = {"tools": {"inputSchema": {"type": "object"}}, "resources": {"name": name}}
    return {key: name, **mapping(more.get(member))}


def _stamped(tape: Tape, method: str) -> list[str]:
    """The versions that requests of a method were stamped with; the first and the last few are enough to know."""
    numbers = tape.requests[method]
    return [version for number in (*numbers[:3], *numbers[-3:]) if (version := tape.take(number).version)]


def client_features(params: dict[str, Json]) -> frozenset[str]:
    """What a client says that it can be asked for."""
    return frozenset(mapping(params.get("capabilities")))
