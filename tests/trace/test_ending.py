"""Endings of connections: fields of the error and of the trace's note, never words that may quote a server."""

from __future__ import annotations

import signal

import pytest

from mcp_studio.errors import ConnectionLost, HttpAnswer, ProtocolError, StudioError
from mcp_studio.present.crashes import headline, meaning
from mcp_studio.redact import Redactor
from mcp_studio.trace.postmortem import Ending, read
from mcp_studio.trace.server_tap import ServerTap
from mcp_studio.trace.store import TraceStore
from mcp_studio.transport.http_errors import HttpDown, HttpFailure, HttpLost, HttpUnreachable, SessionLost
from mcp_studio.transport.stdio import end_of, how_it_ended


@pytest.mark.parametrize("code", [0, 1, 3, 137, -signal.SIGSEGV, -signal.SIGKILL, -40, None])
def test_the_end_of_a_process_is_read_back_from_the_traces_note(code: int | None) -> None:
    store = TraceStore(Redactor())
    words = how_it_ended(code)
    tap = ServerTap(store, Redactor(), "s")
    tap.note(f"s {words}; it said last: x was ended by SIGBUS", "{} {}".format(*end_of(code)))
    found = read(store[0])
    assert found is not None and (found.how, found.code) == end_of(code)
    assert headline(found) == words


def test_words_of_a_note_are_no_ending() -> None:
    store = TraceStore(Redactor())
    for text, method in (("s ended with exit code 3", ""), ("s ended", "started"), ("s ended", "exit x")):
        store.add("s", "none", "note", text.encode(), method)
    assert [read(one) for one in store] == [None, None, None]


@pytest.mark.parametrize(
    ("error", "how", "code"),
    [
        (HttpDown("Nothing answers at h:1: the connection was refused."), "refused", 0),
        (HttpDown("No connection to h:1 within 15 seconds.", how="timeout"), "timeout", 0),
        (HttpLost("h:1 hung up."), "dropped", 0),
        (ConnectionLost("The server closed the connection."), "dropped", 0),
        (SessionLost("h:1 no longer knows the session.", http=HttpAnswer(404), how="session"), "session", 404),
        (HttpUnreachable("There is no stream.", http=HttpAnswer(502)), "status", 502),
        (HttpFailure("It says: the connection was refused", http=HttpAnswer(500)), "status", 500),
        (ProtocolError("It says: h reset the connection within 5 s"), "other", 0),
    ],
)
def test_failures_over_the_network_are_told_apart_by_their_kind(error: StudioError, how: str, code: int) -> None:
    assert (error.how, error.code) == (how, code)


def test_codes_of_shells_for_signals_are_explained() -> None:
    assert "SIGSEGV" in meaning(Ending("exit", 139)) and "native code" in meaning(Ending("exit", 139))
