"""Pure parts: words for people, content blocks, files of a result, entries of servers, command lines, trace detail."""

from __future__ import annotations

import base64
import logging
from pathlib import Path

import pytest

from mcp_studio.call.call import Cancelled, Denied, Lost, Rejected, Succeeded, TimedOut, ToolFailed
from mcp_studio.config.model import ServerConfig, Source
from mcp_studio.errors import ConnectionLost, Unreachable
from mcp_studio.present import blocks, connections, outcomes, units
from mcp_studio.redact import Redactor
from mcp_studio.session.sign_in import add_hint
from mcp_studio.session.state import Status
from mcp_studio.trace.store import TraceStore
from mcp_studio.transport.http_errors import HttpSignIn
from mcp_studio.tui import crash, logs, saving, tracing

PNG = base64.b64encode(b"\x89PNG\r\n").decode()


def content(*items: object) -> dict[str, object]:
    return {"content": list(items)}


# Words


@pytest.mark.parametrize(
    ("count", "text"), [(0, "0B"), (999, "999B"), (1200, "1.2KB"), (20_900_000, "19.9MB"), (5 << 40, "5.0TB")]
)
def test_sizes(count: int, text: str) -> None:
    assert units.size(count) == text


@pytest.mark.parametrize(("ms", "text"), [(18.4, "18 ms"), (1200, "1.2 s"), (125_000, "2 min 5 s")])
def test_durations(ms: float, text: str) -> None:
    assert units.duration(ms) == text


def test_every_state_has_words_and_the_reason_is_in_them() -> None:
    error = Unreachable("It refused.")
    for state in ("failed", "retrying", "needs_auth"):
        assert "It refused." in connections.state_words(Status("s", state, error))  # type: ignore[arg-type]
    same = Status("s", "needs_auth", Unreachable("127.0.0.1:8701 wants you to sign in."))
    assert connections.state_words(same) == "s wants a sign-in."
    for state in ("disabled", "idle", "connecting", "ready", "stopping"):
        assert connections.state_words(Status("s", state)).startswith("s ")  # type: ignore[arg-type]


def test_a_retry_counts_down() -> None:
    assert connections.state_short(Status("s", "retrying", retry_at=104.0), 0, now=100.0) == "retry 4s"


def test_kinds_of_endings_read_differently() -> None:
    endings = [
        Succeeded(ms=5, size=10), ToolFailed(ms=5, size=10), Rejected(ms=5, code=-32602, message="Invalid params"),
        Denied(rule="you said no"), Cancelled(ms=5), TimedOut(limit="60 s without progress"),
        Lost(ms=5, error=ConnectionLost("It ended."), sent=True),
        Lost(error=Unreachable("It is off.", hint="Connect it.")),
    ]  # fmt: skip
    lines = [outcomes.outcome_line(ending)[1] for ending in endings]
    assert len({line.split(":")[0].split(" ")[0] for line in lines[:4]}) == 4
    assert len(set(lines)) == len(lines)
    assert "Whether the server did the work is unknown" in lines[6]
    assert lines[7] == "not sent: It is off. Connect it."


def test_who_has_to_sign_in_is_told_the_key_for_it_and_no_command() -> None:
    error = HttpSignIn("It wants it.", challenge="Bearer")
    add_hint(error, ServerConfig("notes", url="https://mcp.example/mcp", source=Source("user", "config.toml")))
    line = outcomes.outcome_line(Lost(error=error), key="^a")[1]
    assert "^a on the server" in line and "mcp-studio auth login" not in line
    error.challenge = 'Bearer error="insufficient_scope", scope="b"'
    assert "Run it again" in outcomes.outcome_line(Lost(error=error))[1]
    own = HttpSignIn("no", hint="The key in its entry is refused.", challenge="Basic")
    assert connections.hint(own, "a") == "The key in its entry is refused."


# Content blocks


def test_blocks_of_every_kind_in_their_order() -> None:
    found = blocks.blocks_of(
        content(
            {"type": "text", "text": "hi"},
            {"type": "image", "mimeType": "image/png", "data": PNG},
            {"type": "audio", "mimeType": "audio/wav", "data": "AAAA"},
            {"type": "resource", "resource": {"uri": "a://b", "text": "inside", "mimeType": "text/plain"}},
            {"type": "resource", "resource": {"uri": "a://c", "blob": "AAAA", "mimeType": "application/pdf"}},
            {"type": "resource_link", "uri": "a://d", "name": "d"},
            {"type": "hologram"},
            7,
        )
    )
    assert [b.kind for b in found] == ["text", "image", "audio", "text", "file", "link", "unknown", "unknown"]
    assert blocks.headline(found[1]) == "image · image/png · 6B"
    assert found[3].title == "a://b text/plain"


def test_messages_of_a_prompt_carry_their_role() -> None:
    found = blocks.blocks_of({"messages": [{"role": "user", "content": {"type": "text", "text": "hi"}}]})
    assert (found[0].title, found[0].text) == ("user", "hi")


@pytest.mark.parametrize("result", [None, 7, {}, {"content": "x"}, {"contents": None}, {"messages": 3}])
def test_results_of_a_wrong_shape_have_no_blocks(result: object) -> None:
    assert blocks.blocks_of(result) == []


@pytest.mark.parametrize(
    ("text", "markdown"),
    [
        ({"type": "text", "text": "# Title\ntext"}, False),
        ({"type": "text", "text": "a **bold** word", "mimeType": "text/html"}, False),
        ({"type": "resource", "resource": {"uri": "a:b", "mimeType": "text/markdown", "text": "x"}}, True),
        ({"type": "resource", "resource": {"uri": "a:b", "mimeType": "text/plain", "text": "# x"}}, False),
    ],
)
def test_markdown_is_what_the_server_calls_so(text: dict[str, object], markdown: bool) -> None:
    assert blocks.is_markdown(blocks.blocks_of(content(text))) is markdown


def test_beside_markdown_other_text_stays_as_it_is() -> None:
    marked = {"type": "resource", "resource": {"uri": "a:b", "mimeType": "text/markdown", "text": "# x"}}
    found = blocks.blocks_of(content({"type": "text", "text": "``` *a*\nb"}, marked))
    assert blocks.markdown_of(found, wanted=False).startswith("````\n``` *a*\nb\n````\n\n")
    assert blocks.markdown_of(found, wanted=True).startswith("``` *a*\nb\n\n")


def test_json_that_comes_as_text_counts_as_structured() -> None:
    assert blocks.structured(content({"type": "text", "text": '{"a": 1}'})) == (True, {"a": 1})
    assert blocks.structured(content({"type": "text", "text": "{no"})) == (False, None)
    assert blocks.structured({"structuredContent": None, "content": []}) == (True, None)


# Saving


def test_a_result_is_saved_in_parts_and_nothing_is_overwritten(tmp_path: Path) -> None:
    result = content({"type": "text", "text": "hi"}, {"type": "image", "mimeType": "image/png", "data": PNG})
    for expected in ("x.txt", "x-2.txt"):
        written = saving.write(saving.parts_of(result, "x"), tmp_path)
        assert written[0].name == expected
        assert written[1].read_bytes() == b"\x89PNG\r\n"
    assert len(list(tmp_path.iterdir())) == 6


def test_data_that_is_no_base64_says_which_part(tmp_path: Path) -> None:
    parts = saving.parts_of(content({"type": "image", "mimeType": "image/png", "data": "ä"}), "x")
    with pytest.raises(ValueError, match=r"x-1\.png: its data is not base64"):
        saving.write(parts, tmp_path)


# The trace


def test_the_detail_of_an_exchange_has_its_headers_and_what_was_printed_around_it() -> None:
    store = TraceStore(Redactor())
    store.add("s", "out", "http", b"POST /mcp\naccept: x", exchange=3)
    request = store.add("s", "out", "request", b'{"id":1}', exchange=3)
    span = store.opened(request)
    store.add("s", "in", "stderr", b"working")
    store.add("other", "in", "stderr", b"not mine")
    store.add("s", "in", "http", b"200 OK\ncontent-type: y", exchange=3)
    response = store.add("s", "in", "result", b'{"id":1,"result":{}}', exchange=3)
    store.settled(span, response, False)
    detail = tracing.detail_of(store, response)
    assert (detail.request, detail.response) == (request, response)
    headers, printed = tracing.headers(store, detail.heads), tracing.printed(store, detail.printed)
    assert "accept: x" in headers and "content-type: y" in headers
    assert "working" in printed and "not mine" not in printed
    head = store[0]
    assert (tracing.detail_of(store, head), tracing.first_tab(head)) == (detail, "headers")
    assert [tracing.first_tab(entry) for entry in (request, response, store[2])] == ["request", "response", "stderr"]


def test_an_entry_alone_is_its_own_detail() -> None:
    store = TraceStore(Redactor())
    entry = store.add("s", "in", "notification", b'{"method":"x"}')
    assert tracing.detail_of(store, entry).request is entry


# Log and crash report


def test_the_log_is_redacted_and_bounded_in_rate(tmp_path: Path) -> None:
    redactor = Redactor()
    redactor.learn("hunter2hunter2")
    handler = logs.install(tmp_path / "a" / "studio.log", redactor)
    try:
        for number in range(logs.BURST + 20):
            logging.getLogger("x").warning("no %s hunter2hunter2 \x1b[31m", number)
    finally:
        logs.uninstall(handler)
    lines = (tmp_path / "a" / "studio.log").read_text().splitlines()
    assert len(lines) <= 2 * logs.BURST + 2
    assert "hunter2" not in "".join(lines) and "\x1b" not in "".join(lines)


def test_a_log_that_cannot_be_written_costs_nothing_else(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    handler = logs.install(tmp_path / "file" / "studio.log", Redactor())
    try:
        logging.getLogger("x").warning("lost")
    finally:
        logs.uninstall(handler)


def test_a_crash_report_is_redacted_and_has_no_local_variables(tmp_path: Path) -> None:
    redactor = Redactor()
    redactor.learn("hunter2hunter2")
    password = "hunter2hunter2"
    try:
        raise RuntimeError(f"it was {password}")
    except RuntimeError as error:
        sentence = crash.report(error, tmp_path, redactor)
    assert sentence.startswith("mcp-studio ended by a mistake of its own (RuntimeError)")
    text = next(tmp_path.glob("crash-*.log")).read_text()
    assert "RuntimeError: it was ‹redacted›" in text and "hunter2" not in text


def test_a_crash_report_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    assert "could not be written" in crash.report(RuntimeError(), tmp_path / "file", Redactor())
