"""How the words of an ending are read, and what they mean."""

from __future__ import annotations

import signal

import pytest

from mcp_studio.present.crashes import headline, meaning
from mcp_studio.trace.postmortem import ENDED_NOTE, of_words, read
from mcp_studio.transport.stdio import how_it_ended


@pytest.mark.parametrize("code", [0, 1, 3, 137, -signal.SIGSEGV, -signal.SIGKILL, -40, None])
def test_what_the_transport_says_is_read_again(code: int | None) -> None:
    text = f"my server {how_it_ended(code)}; it said last: x was ended by SIGBUS"
    found = read("my server", text)
    assert found is not None
    if code is None:
        assert found.how == "guard"
    else:
        assert (found.how, found.code) == (("exit", code) if code >= 0 else ("signal", -code))
        assert headline(found) in text


def test_only_what_stands_behind_the_servers_name_counts() -> None:
    assert read("s", "the server prints: s ended with exit code 3") is None
    assert read("s", "started s ended with exit code 3 as process 4") is None
    assert read("s", "s is a server that ended with exit code 3") is None
    assert read("s", "s was closed: it was ended by SIGTERM") is None


@pytest.mark.parametrize(
    ("text", "how", "code"),
    [
        ("Nothing answers at h:1: the connection was refused.", "refused", 0),
        ("The host name h does not resolve.", "refused", 0),
        ("h:1 closed the connection without an answer.", "dropped", 0),
        ("h:1 reset the connection before its answer was complete.", "dropped", 0),
        ("h:1 no longer knows the session (HTTP status 404).", "session", 404),
        ("h:1 answered with HTTP status 502 Bad Gateway.", "status", 502),
        ("No connection within 15 s (timeouts.connect).", "timeout", 0),
        ("Something else.", "other", 0),
    ],
)
def test_failures_over_the_network_are_told_apart(text: str, how: str, code: int) -> None:
    found = of_words(text)
    assert (found.how, found.code) == (how, code)
    assert read("s", f"s {ENDED_NOTE}{text}") == found
    assert headline(found)


def test_codes_of_shells_for_signals_are_explained() -> None:
    found = read("s", "s ended with exit code 139")
    assert found is not None and "SIGSEGV" in meaning(found) and "native code" in meaning(found)
