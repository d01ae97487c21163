"""Lines that are no protocol: what they are, between which messages, and the usual cause in each language."""

from __future__ import annotations

import pytest

from mcp_studio.present import stray
from mcp_studio.present.stray import SORTS, explain
from mcp_studio.protocol.message import parse
from mcp_studio.trace.message import WireMessage
from tests.trace.test_server_tap import made, receive, send


@pytest.mark.parametrize(
    ("line", "sort"),
    [
        (b"Server running on stdio", "text"),
        (b"INFO:root:loaded 3 tools", "log"),
        (b"2024-05-01 12:00:00,123 - app - INFO - ready", "log"),
        (b"[INFO] starting", "log"),
        (b"time=2024-01-01 level=info msg=x", "log"),
        (b'{"level":30,"time":1,"msg":"x"}', "log"),
        (b"\x1b[34minfo\x1b[0m: started", "log"),
        (b"\x1b[32mready\x1b[0m", "text"),
        (b'{"jsonrpc":"2.0","id":1,"resuhello world', "broken"),
        (b"Traceback (most recent call last):", "trace"),
        (b"    at Object.<anonymous> (/x/y.js:1:2)", "trace"),
        (b"information is here", "text"),
    ],
)
def test_a_line_is_sorted_by_its_looks(line: bytes, sort: str) -> None:
    before = WireMessage(1, 0.0, "s", "out", "request", b"", 0, method="tools/call")
    assert stray.sort_of(line, before) == sort


def test_lines_stand_between_the_messages_around_them_newest_first() -> None:
    store, tap = made()
    tap.stray(b"welcome")
    send(tap, b'{"id":1}', id=1, method="tools/call", target="echo")
    tap.stray(b"one")
    tap.stderr(b"not this")
    tap.stray(b"two")
    receive(tap, b'{"jsonrpc":"2.0","id":1,"result":{}}')
    receive(tap, b'{"jsonrpc":"2.0","id":9}')  # wrong, but a message
    receive(tap, b'{"jsonrpc":"2.0","id":2,"res hello')
    newest, middle, first = stray.bursts(store, "s")
    assert [one.sort for one in newest.lines] == ["broken"] and newest.after is None
    assert [one.entry.body for one in middle.lines] == [b"one", b"two"]
    assert middle.before and middle.before.method == "tools/call" and middle.after and middle.after.kind == "result"
    assert (first.before, first.lines[0].sort) == (None, "banner")
    assert stray.bursts(store, "other") == [] and len(stray.bursts(store, "s", most=1)) == 1
    assert len(stray.bursts(store, "s", first=newest.lines[0].entry.number)) == 1


def test_json_over_several_lines_is_one_thing() -> None:
    store, tap = made()
    for line in (b"{", b'  "jsonrpc": "2.0",', b'  "id": 1,', b'  "result": {', b"  }", b"}"):
        if line.startswith(b"{"):
            tap.received(line)
            tap.understood(parse(line))
        else:
            tap.stray(line)
    assert {one.sort for one in stray.bursts(store, "s")[0].lines} == {"json"}


@pytest.mark.parametrize(
    ("argv", "name"),
    [
        (["python3.12", "-m", "server"], "Python"), (["uvx", "server"], "Python"),
        (["/usr/bin/env", "node", "x"], "Node.js"),
        (["npx", "-y", "server"], "Node.js"), (["sh", "-c", "exec npx server"], "Node.js"), (["bash", "x.sh"], ""),
        (["java", "-jar", "s.jar"], "Java"), (["go", "run", "."], "Go"), (["cargo", "run"], "Rust"), (["./server"], ""),
        (["env", "A=1", "timeout", "5", "python", "x.py"], "Python"), (["run-it", "index.mjs"], "Node.js"), ([], ""),
    ],
)  # fmt: skip
def test_the_language_is_known_by_the_command(argv: list[str], name: str) -> None:
    explained = explain("text", argv)
    assert f"In {name} the usual cause is" in explained if name else "The usual cause is" in explained


def test_the_explanation_names_the_usual_cause_and_the_remedy() -> None:
    assert "print()" in explain("text", ["uvx", "x"]) and "sys.stderr" in explain("text", ["uvx", "x"])
    assert "console.log" in explain("text", ["npx", "x"]) and "console.error" in explain("text", ["npx", "x"])
    assert "logging.basicConfig" in explain("log", ["python", "x"])
    assert all(explain(sort, ()) for sort in SORTS)
