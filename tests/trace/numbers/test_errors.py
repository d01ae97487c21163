"""What errors say, grouped."""

from __future__ import annotations

from mcp_studio.jsontext import Json, dumps
from mcp_studio.present.error_groups import Errors, text_of
from mcp_studio.trace.message import WireMessage
from mcp_studio.trace.statistics import pattern_of
from tests.support import run


def answer(number: int, message: Json, kind: str = "result", target: str = "add", size: int = 0) -> WireMessage:
    body = dumps(message)
    return WireMessage(number, 1e9 + number, "demo", "in", kind, body, size or len(body), "tools/call", target)  # type: ignore[arg-type]


def tool_error(number: int, text: str, target: str = "add") -> WireMessage:
    content: Json = [{"type": "image"}, {"type": "text", "text": text}]
    return answer(number, {"result": {"isError": True, "content": content}}, target=target)


def refusal(number: int, code: int, message: str) -> WireMessage:
    return answer(number, {"error": {"code": code, "message": message}}, "error")


class Entries:
    def __init__(self, *entries: WireMessage) -> None:
        self._entries = {entry.number: entry for entry in entries}
        self.read: list[int] = []

    def entry(self, number: int) -> WireMessage | None:
        return self._entries.get(number)

    async def body(self, entry: WireMessage) -> bytes:
        self.read.append(entry.number)
        return entry.body


def test_the_same_words_with_other_numbers_are_one_group_and_the_largest_comes_first() -> None:
    entries = Entries(
        refusal(1, -32602, "no such file"),
        *(tool_error(number, f"timed out after {number * 7} ms, request 0x{number:x}") for number in (2, 3, 4)),
        tool_error(5, "timed out after 5 ms, request 0x5", target="other"),
        refusal(6, -32603, "no such file"),
    )
    errors = Errors(entries)  # type: ignore[arg-type]
    found = run(errors.top([1, 2, 3, 4, 5, 6, 77]))
    assert [(group.target, group.text, group.times, group.newest) for group in found] == [
        ("add", "timed out after 28 ms, request 0x4", 3, 4),
        ("add", "-32603 no such file", 1, 6),
        ("other", "timed out after 5 ms, request 0x5", 1, 5),
        ("add", "-32602 no such file", 1, 1),
    ]


def test_no_answer_is_read_twice() -> None:
    entries = Entries(tool_error(1, "no"), tool_error(2, "no"))
    errors = Errors(entries)  # type: ignore[arg-type]
    for _ in range(2):
        assert run(errors.top([1, 2]))[0].times == 2
    assert entries.read == [1, 2]


def test_hostile_answers_are_safe_bounded_words() -> None:
    assert text_of(
        tool_error(1, "bad\x1b[31m\nline\u202e"), tool_error(1, "bad\x1b[31m\nline\u202e").body
    ).isprintable()
    assert len(text_of(tool_error(1, "x" * 100_000), tool_error(1, "x" * 100_000).body)) < 400
    assert text_of(answer(1, {}, size=10_000_000), b"") == "an answer of 10,000,000 bytes"
    assert text_of(answer(1, {}), b"{") == "an answer that cannot be read"
    assert text_of(answer(1, {}), b'{"result": {"content": 5}}') == "it gives no reason"
    request = WireMessage(1, 0.0, "demo", "out", "request", b"", 0)
    assert text_of(request, b"{}") == "no answer came"


def test_the_code_of_an_error_is_no_changing_number() -> None:
    assert pattern_of("-32000 7 of 9 failed") == "-32000 # of # failed"
    assert pattern_of("id 550e8400-e29b-41d4-a716-446655440000") == "id #"
