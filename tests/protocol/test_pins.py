"""A pinned protocol version: what is offered, and what happens when the server wants another one."""

from __future__ import annotations

import json
from typing import Any

import pytest

from mcp_studio.errors import ProtocolError
from mcp_studio.protocol import events as ev
from mcp_studio.protocol.core import ClientCore
from mcp_studio.protocol.message import parse
from mcp_studio.protocol.versions import HANDSHAKE_VERSIONS, META_VERSION


def pinned(version: str, **more: Any) -> ClientCore:
    """A core that offers only one version and has sent its first message."""
    made = ClientCore({"name": "t"}, {}, pin=version, **more)
    made.start()
    return made


def feed(made: ClientCore, message: Any) -> list[ev.Event]:
    return made.receive(parse(json.dumps(message).encode()))


def first(made: ClientCore) -> dict[str, Any]:
    (out,) = made.take()
    return json.loads(out.frame)


def shaken(version: str) -> dict[str, Any]:
    return {"id": 1, "result": {"protocolVersion": version, "capabilities": {}, "serverInfo": {"name": "s"}}}


@pytest.mark.parametrize("version", HANDSHAKE_VERSIONS)
@pytest.mark.parametrize("remembered", ["", "legacy", "modern"])
def test_a_pinned_handshake_version_is_offered_without_any_probe(version: str, remembered: str) -> None:
    made = pinned(version, remembered=remembered)
    sent = first(made)
    assert (sent["method"], sent["params"]["protocolVersion"]) == ("initialize", version)
    assert not made.probing
    assert feed(made, shaken(version)) == [ev.Ready(version, False, {}, {"name": "s"}, "", version)]


def test_a_pinned_modern_version_is_asked_for_and_never_falls_back() -> None:
    made = pinned("2026-07-28", remembered="legacy")
    sent = first(made)
    assert sent["method"] == "server/discover" and sent["params"]["_meta"][META_VERSION] == "2026-07-28"
    assert not made.probing
    (failed,) = feed(made, {"id": 1, "error": {"code": -32601, "message": "no"}})
    assert isinstance(failed, ev.NegotiationFailed) and "2026-07-28" in failed.error.hint
    assert not made.outbox


def test_a_counter_offer_is_gone_on_with_and_told() -> None:
    made = pinned("2025-03-26")
    made.take()
    fault, ready = feed(made, shaken("2025-11-25"))
    assert isinstance(fault, ev.Violation) and "2025-11-25" in fault.text and "2025-03-26" in fault.text
    assert isinstance(ready, ev.Ready) and (ready.version, ready.offered) == ("2025-11-25", "2025-03-26")
    assert made.version == "2025-11-25"


def test_a_counter_offer_without_a_pin_is_what_negotiation_is_for() -> None:
    made = ClientCore({}, {}, era="legacy")
    made.start()
    made.take()
    (ready,) = feed(made, shaken("2024-11-05"))
    assert isinstance(ready, ev.Ready) and (ready.version, ready.offered) == ("2024-11-05", "2025-11-25")


def test_a_version_that_a_refusal_names_is_tried_and_told() -> None:
    made = pinned("2024-11-05")
    made.take()
    refusal = {"code": -32602, "message": "no", "data": {"supported": ["2025-06-18"]}}
    assert feed(made, {"id": 1, "error": refusal}) == []
    assert first(made)["params"]["protocolVersion"] == "2025-06-18"
    fault, ready = feed(made, shaken("2025-06-18") | {"id": 2})
    assert isinstance(fault, ev.Violation) and isinstance(ready, ev.Ready)


def test_an_unknown_counter_offer_fails_in_words_and_does_not_change_the_era() -> None:
    made = pinned("2025-06-18")
    made.take()
    (failed,) = feed(made, shaken("1999-01-01"))
    assert isinstance(failed, ev.NegotiationFailed) and isinstance(failed.error, ProtocolError)
    assert "1999-01-01" in failed.error.message and not made.outbox
