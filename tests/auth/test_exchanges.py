"""What is secret in an answer is known before anybody sees it."""

from __future__ import annotations

import pytest

from mcp_studio.auth import answers
from mcp_studio.auth.exchanges import secrets_in

TOKEN = "planted-token-1234567890"


@pytest.mark.parametrize("rest", [b"1", b"1" * 5_000, b'"caf\xe9"'])
def test_whatever_is_taken_for_an_answer_is_looked_through(rest: bytes) -> None:
    """Also what stricter readers of JSON refuse: absurd numbers, bytes that are no UTF-8."""
    body = b'{"access_token": "%b", "token_type": "Bearer", "more": %b}' % (TOKEN.encode(), rest)
    assert answers.read(200, body, who="It").access_token == TOKEN
    assert secrets_in(body) == secrets_in(b"\xef\xbb\xbf" + body) == [TOKEN]


def test_forms_are_looked_through_too() -> None:
    assert secrets_in(b"access_token=%b&scope=a" % TOKEN.encode()) == [TOKEN]
    assert secrets_in(b"") == secrets_in(b"<html>") == []
