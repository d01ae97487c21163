"""Secrets and personal data in results: what is found, what is not, and what is left of them."""

from __future__ import annotations

import time
from typing import Any

import pytest

from mcp_studio.call.call import CallOutcome, Rejected, Succeeded, ToolFailed
from mcp_studio.call.filter import ResultFilter
from mcp_studio.catalog.listing import Ref
from mcp_studio.config.model import ServerConfig, Settings
from mcp_studio.protocol.message import LargeResult
from mcp_studio.redact import Redactor
from tests.studio_support import opened, stdio
from tests.support import python_server

REDACTOR = Redactor()
REDACTOR.learn("tell-nobody")


def filtered(outcome: CallOutcome, mode: Any = "mask", usual: Any = "off") -> CallOutcome:
    """What a server's results become."""
    return ResultFilter(REDACTOR, lambda name: ServerConfig(name, command="x", filter=mode), usual).apply("s", outcome)


def masked(value: Any) -> tuple[Any, dict[str, int]]:
    """A result masked, and what was found."""
    found = filtered(Succeeded(result=value))
    assert isinstance(found, Succeeded)
    return found.result, dict(found.sensitive)


def test_a_part_that_stayed_json_text_is_masked_as_its_value() -> None:
    raw = b'{"structuredContent": {"password": "abc", "said": ["tell-nobody", 1]}}'
    result = LargeResult(structuredContent=memoryview(raw)[22:-1])
    result.raw = memoryview(raw)
    left = {"structuredContent": {"password": "‹redacted›", "said": ["‹redacted›", 1]}}
    assert masked(result) == (left, {"secret": 2})


@pytest.mark.parametrize(
    ("text", "left", "kind"),
    [
        ("mail ada@example.org.", "mail ‹e-mail›.", "email"),
        ("<Ada.L+x@mail.example.co.uk>", "<‹e-mail›>", "email"),
        ("ada@localhost", None, ""), ("@mention", None, ""), ("npm i @scope/name@1.2.3", None, ""),
        ("call +49 30 1234567 now", "call ‹phone› now", "phone"),
        ("+1 (555) 123-4567", "‹phone›", "phone"), ("(555) 123-4567", "‹phone›", "phone"),
        ("0049 30 1234567", "‹phone›", "phone"),
        ("2026-11-29T05:51:05+01:00", None, ""), ("1 + 12345678", None, ""), ("v1.2.3-4567", None, ""),
        ("card 4111 1111 1111 1111 ok", "card ‹card› ok", "card"), ("4111-1111-1111-1111", "‹card›", "card"),
        ("378282246310005", "‹card›", "card"), ("4111111111111111 123", "‹card› 123", "card"),
        ("12 4111111111111111", "12 ‹card›", "card"), ("4111 1111 1111 1111 12 27", "‹card› 12 27", "card"),
        ("4111\xa01111\xa01111\xa01111", "‹card›", "card"),
        ("4111 1111 1111 1112", None, ""), ("1234567890123452", None, ""), ("0.4111111111111111", None, ""),
        ("DE89 3704 0044 0532 0130 00 IS IT", "‹IBAN› IS IT", "iban"), ("GB82WEST12345698765432", "‹IBAN›", "iban"),
        ("DE89370400440532013001", None, ""), ("AB12 CODE WORD HERE", None, ""),
        ("AB12 4111 1111 1111 1111", "AB12 ‹card›", "card"),
        ("say tell-nobody", "say ‹redacted›", "secret"), ("ghp_" + "a1" * 12, "‹redacted›", "secret"),
    ],
)  # fmt: skip
def test_each_kind_is_told_from_what_only_looks_like_it(text: str, left: str | None, kind: str) -> None:
    assert masked({"content": [{"type": "text", "text": text}]}) == (
        {"content": [{"type": "text", "text": text if left is None else left}]},
        {kind: 1} if kind else {},
    )


def test_names_numbers_and_values_under_secret_names_are_looked_at_and_binary_content_is_not() -> None:
    value = {
        "structuredContent": {"a@b.org": 1, "c@d.org": 2, "n": 4111111111111111, "id": 7, "password": "x", "ok": True},
        "content": [{"type": "image", "data": "a@b.org"}, {"type": "resource", "resource": {"blob": "a@b.org"}}],
    }
    found, counts = masked(value)
    members = {"‹e-mail›": 1, "‹e-mail›*": 2, "n": "‹card›", "id": 7, "password": "‹redacted›", "ok": True}
    assert found == {"structuredContent": members, "content": value["content"]}
    assert counts == {"email": 2, "card": 1, "secret": 1}


@pytest.mark.parametrize(
    ("mode", "usual", "left", "counted"),
    [
        ("", "off", "a@b.org", False), ("off", "mask", "a@b.org", False), ("mark", "off", "a@b.org", True),
        ("", "mark", "a@b.org", True), ("", "mask", "‹e-mail›", True), ("mask", "off", "‹e-mail›", True),
    ],
)  # fmt: skip
def test_the_entry_of_the_server_says_what_is_done_else_the_settings(
    mode: str, usual: str, left: str, counted: bool
) -> None:
    for outcome in (Succeeded(result=["a@b.org"]), ToolFailed(result=["a@b.org"]), Rejected(message="a@b.org")):
        found = filtered(outcome, mode, usual)
        shown = found.message if isinstance(found, Rejected) else found.result[0]  # type: ignore[union-attr]
        verb = "Masked" if left != "a@b.org" else "Found"
        assert shown == left and found.sensitive == ({"email": 1} if counted else {})
        assert found.notes == ((f"{verb} in the result: e-mail addresses 1.",) if counted else ())


@pytest.mark.parametrize("part", ["a", "1 ", "AB12", "a@", "+1-"])
def test_a_large_text_costs_linear_time(part: str) -> None:
    text = part * (1_000_000 // len(part))
    began = time.process_time()
    assert masked([text])[0] == [text]
    assert time.process_time() - began < 8


def test_what_is_too_much_to_be_looked_at_is_not_shown() -> None:
    found, counts = masked(["x" * (1 << 20)] * 18)
    assert found[15] != found[16] == found[17] == "‹not looked at›" and counts == {"unread": 2}


async def test_what_is_masked_is_masked_for_everybody_and_checked_as_it_came() -> None:
    server = stdio(python_server("raw_server"), filter="mask")
    async with opened(server, settings=Settings()) as studio:
        outcome = await studio.call_tool(Ref("tool", "s", "echo"), {"text": "to ada@example.org"}, approved=True).wait()
        assert isinstance(outcome, Succeeded) and "to ‹e-mail›" in str(outcome.result)
        assert "ada@" not in str(outcome.result) and outcome.sensitive["email"] >= 1
        assert any(b"ada@example.org" in entry.body for entry in studio.trace if entry.direction == "in")
