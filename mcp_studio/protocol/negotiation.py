"""Negotiation of the era and the version with a server."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, cast

from mcp_studio.errors import ConnectionLost, ProtocolError, SignInNeeded, StudioError, Unreachable
from mcp_studio.jsontext import Json, mapping
from mcp_studio.protocol.events import (
    Answered,
    Broken,
    Discovered,
    Event,
    NegotiationFailed,
    Ready,
    Refused,
    RequestId,
    Violation,
)
from mcp_studio.protocol.versions import (
    HANDSHAKE_VERSIONS,
    LATEST_HANDSHAKE,
    LATEST_MODERN,
    META_SERVER,
    MODERN_VERSIONS,
    UNSUPPORTED_VERSION,
    era_of,
    hint_of,
)

Era = Literal["legacy", "auto", "modern"]
Send = Callable[[str, str], RequestId]
"""Sends `initialize` or `server/discover`, stamped with a version; returns the request's id."""
Answer = Answered | Refused | Broken
_BUSY = 429
"""The HTTP status of a server that asks to wait, whatever it speaks."""


class Negotiation:
    """Specification, basic/lifecycle (to 2025-11-25) and basic/versioning (2026-07-28).

    `auto` asks `server/discover` first, and falls back to `initialize` unless the answer clearly says that the server
    is a modern one without a common version. The era that worked last time is tried first. Once `initialize` is sent,
    its answer decides, because it binds a server that answers both. Only where the server refuses the handshake is the
    answer to `server/discover` used, which may have arrived already.

    Args:
        pin: the only version to offer, which also decides the era. If the server answers with another version that we
        know, the connection goes on with a fault in the trace: a debugger shows what the server does next.
    """

    def __init__(self, send: Send, era: Era, remembered: str, pin: str = "") -> None:
        self._send = send
        self._pin = pin
        self._era: Era = era_of(pin) or era
        self.requests: set[RequestId] = set()
        """The ids of the negotiation's requests."""
        self._offers: dict[RequestId, str] = {}
        self._first_modern = self._era == "modern" or (self._era == "auto" and remembered != "legacy")
        self._discover: RequestId | None = None
        self._initialize: RequestId | None = None
        self._probe_answer: Answer | None = None
        """The newest answer to `server/discover`."""
        self._retried: set[str] = set()
        self._no_handshake: StudioError | None = None
        self.settled = False
        self.discovered = False
        """Whether a modern server answered `server/discover` after `initialize` had been sent."""

    @property
    def probing(self) -> bool:
        """Whether only `server/discover` is open, and falling back is allowed."""
        return not self.settled and self._era == "auto" and self._discover is not None and self._initialize is None

    def start(self) -> None:
        """Send the first message."""
        if self._first_modern:
            self._ask(self._pin or LATEST_MODERN)
        else:
            self._shake(self._pin or LATEST_HANDSHAKE)

    def fall_back(self) -> None:
        """Try the handshake, because the server did not answer the probe in time."""
        if self.probing:
            self._shake()

    @property
    def unanswered(self) -> RequestId:
        """The id of the `server/discover` that has no answer yet; 0 when there is none."""
        return self._discover if self._discover is not None and self._probe_answer is None else 0

    def settle(self, answer: Answer) -> list[Event]:
        """Handle the answer to one of the negotiation's requests."""
        if answer.id == self._discover:
            self._probe_answer = answer
            if self._initialize is not None and self._no_handshake is None:
                self.discovered = bool(self._offered(answer))
                return [Discovered()] if self.discovered else []
            return [] if self.settled else self._on_discover(answer)
        return [] if self.settled else self._on_initialize(answer)

    def _ask(self, version: str = LATEST_MODERN) -> None:
        self._discover, self._probe_answer = self._send("server/discover", version), None
        self.requests.add(self._discover)
        self._offers[self._discover] = version

    def _shake(self, version: str = LATEST_HANDSHAKE) -> None:
        self._initialize = self._send("initialize", version)
        self.requests.add(self._initialize)
        self._offers[self._initialize] = version

    def _on_discover(self, answer: Answer) -> list[Event]:
        if isinstance(answer, Answered):
            return self._on_discovered(answer)
        if isinstance(answer, Broken) and _says_nothing_of_the_era(answer.error):
            return self._fail(answer.error)
        if isinstance(answer, Refused) and answer.code == UNSUPPORTED_VERSION:
            supported = _strings(answer.data, "supported")
            common = [version for version in MODERN_VERSIONS if version in supported]
            if common and "discover" not in self._retried:
                self._retried.add("discover")
                self._ask(common[-1])
                return []
            if supported and not any(version in HANDSHAKE_VERSIONS for version in supported):
                return self._fail(_no_common(supported))
        return self._older(answer)

    def _older(self, answer: Answer) -> list[Event]:
        """Go on with the handshake where it is allowed, because the probe showed no modern server."""
        if self._era == "modern":
            return self._fail(self._refused("server/discover", answer))
        if self._no_handshake is not None:
            return self._fail(self._no_handshake)
        if self._initialize is None:
            self._shake()
        return []

    def _on_discovered(self, answer: Answered) -> list[Event]:
        result, common = mapping(answer.result), self._offered(answer)
        if not common:
            if self._era == "modern":
                return self._fail(_no_common(_strings(result, "supportedVersions")))
            return self._older(answer)
        meta = mapping(result.get("_meta"))
        version = self._pin if self._pin in common else common[-1]
        info = mapping(meta.get(META_SERVER)) or mapping(result.get("serverInfo"))
        return self._ready(answer, version, True, info)

    def _offered(self, answer: Answer) -> list[str]:
        """The stateless versions that an answer to `server/discover` offers and that we speak."""
        supported = _strings(answer.result, "supportedVersions") if isinstance(answer, Answered) else []
        return [version for version in MODERN_VERSIONS if version in supported]

    def _on_initialize(self, answer: Answer) -> list[Event]:
        if isinstance(answer, Answered):
            result = mapping(answer.result)
            version = result.get("protocolVersion")
            if version not in HANDSHAKE_VERSIONS:
                return self._newer(_no_common([str(version)[:40]] if version is not None else []))
            return self._ready(answer, str(version), False, mapping(result.get("serverInfo")))
        if isinstance(answer, Refused) and self._retry_initialize(answer):
            return []
        return self._newer(self._refused("initialize", answer))

    def _newer(self, error: StudioError) -> list[Event]:
        """Try the modern era where the server may speak it, because the handshake failed."""
        if self._era != "auto" or _says_nothing_of_the_era(error):
            return self._fail(error)
        probe, self._no_handshake = self._probe_answer, error
        if isinstance(probe, Answered) and self._offered(probe):
            return self._on_discovered(probe)
        if probe is not None:
            return self._fail(error)
        if self._discover is None:
            self._ask()
        return []

    @property
    def _probe_counts(self) -> bool:
        """Whether `server/discover` has no answer yet, or the answer of a modern server."""
        return bool(self.unanswered or (self._probe_answer is not None and self._offered(self._probe_answer)))

    def _retry_initialize(self, answer: Refused) -> bool:
        """Ask once more in a version that the refusal names; False when the refusal names none that we speak."""
        supported = _strings(answer.data, "supported")
        modern = [version for version in MODERN_VERSIONS if version in supported]
        if modern and self._era == "auto" and "discover" not in self._retried and not self._probe_counts:
            self._retried.add("discover")
            self._no_handshake = self._refused("initialize", answer)
            self._ask(modern[-1])
            return True
        older = [version for version in HANDSHAKE_VERSIONS if version in supported]
        if older and "initialize" not in self._retried:
            self._retried.add("initialize")
            self._shake(older[-1])
            return True
        return False

    def _ready(self, answer: Answered, version: str, modern: bool, info: dict[str, Json]) -> list[Event]:
        self.settled = True
        result = mapping(answer.result)
        instructions = result.get("instructions")
        text = instructions if isinstance(instructions, str) else ""
        offered = self._pin or self._offers.get(answer.id, "")
        hint = hint_of(result) if modern else None
        ready = Ready(version, modern, mapping(result.get("capabilities")), info, text, offered, hint)
        if self._pin and version != self._pin:
            return [Violation(f"speaks protocol version {version}, though only {self._pin} was offered"), ready]
        return [ready]

    def _refused(self, method: str, answer: Answer) -> StudioError:
        if isinstance(answer, Broken):
            return answer.error
        if isinstance(answer, Refused):
            pinned = f"Only protocol version {self._pin} is offered: without that, others are tried."
            return ProtocolError(
                f"The server refused {method}: {answer.text}.", hint=pinned if self._pin else _other_era(self._era)
            )
        return ProtocolError(f"The server's answer to {method} makes no sense.")

    def _fail(self, error: StudioError) -> list[Event]:
        self.settled = True
        return [NegotiationFailed(error)]


def _other_era(era: Era) -> str:
    if era == "auto":
        return "Try one era alone: --era legacy or --era modern."
    return f"Try another era: --era {'legacy' if era == 'modern' else 'modern'}, or auto."


def _says_nothing_of_the_era(error: StudioError) -> bool:
    """Whether an error says nothing of the era: the server was not reached, or is busy.

    A connection that ended under the probe is different: the probe may be the reason.
    """
    if error.retry_after or (error.http is not None and error.http.status == _BUSY):
        return True
    return isinstance(error, (SignInNeeded, Unreachable)) and not isinstance(error, ConnectionLost)


def _strings(value: Json, key: str) -> list[str]:
    items = mapping(value).get(key)
    return [item for item in cast("list[Json]", items) if isinstance(item, str)] if isinstance(items, list) else []


def _no_common(supported: list[str]) -> ProtocolError:
    offered = ", ".join(supported) or "no version at all"
    return ProtocolError(
        f"No common protocol version: the server offers {offered}.",
        hint=f"mcp-studio speaks {', '.join((*HANDSHAKE_VERSIONS, *MODERN_VERSIONS))}.",
    )
