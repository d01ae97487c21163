"""The exchanges of signing in where the trace is shown: rows, timeline, headers."""

from __future__ import annotations

from mcp_studio.tui.timeline import timeline
from mcp_studio.tui.views.trace_row import draw, of_message

from mcp_studio.tui import tracing
from tests.trace.test_sign_ins import PURPOSE, signed_in


def row(number: int) -> str:
    entry = signed_in().entry(number)
    assert entry is not None
    return "".join(text for text, _ in draw(of_message(entry), 200))


def test_a_row_says_what_it_is_for_and_where_it_goes() -> None:
    assert f"{PURPOSE}: https://as.example/token?tenant=t" in row(4)
    assert "200" in row(5) and PURPOSE in row(5)
    assert "failed" in row(7) and "metadata" in row(7)


def test_the_timeline_of_a_call_has_what_was_asked_meanwhile() -> None:
    store = signed_in()
    entry = store.entry(2)
    assert entry is not None
    detail = tracing.detail_of(store, entry)
    labels = [event.label for event in timeline(store, detail.family, 2)]
    assert labels == [
        "tools/call echo", "401 Unauthorized", f"POST {PURPOSE}", "200", "GET metadata",
        "failed: No connection: Bearer ‹redacted›",
    ]  # fmt: skip
    assert detail.relatives == 2


def test_the_headers_of_an_exchange_have_its_bodies_below() -> None:
    store = signed_in()
    entry = store.entry(5)
    assert entry is not None
    detail = tracing.detail_of(store, entry)
    assert detail.request.number == 4 and tracing.first_tab(entry) == "headers"
    text = tracing.headers(store, detail.heads)
    assert "grant_type=authorization_code" in text and '"scope":"notes"' in text and "s3cr" not in text
