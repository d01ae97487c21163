"""What is secret in an answer is known before anybody sees it."""

from __future__ import annotations

import json

import pytest

from mcp_studio.auth import tokens
from mcp_studio.auth.fetch import secrets_in, shown
from mcp_studio.redact import Redactor

TOKEN = "planted-token-1234567890"


@pytest.mark.parametrize("rest", [b"1", b"1" * 5_000, b'"caf\xe9"'])
def test_whatever_is_taken_for_an_answer_is_looked_through(rest: bytes) -> None:
    """Also what stricter readers of JSON refuse: absurd numbers, bytes that are no UTF-8."""
    body = b'{"access_token": "%b", "token_type": "Bearer", "more": %b}' % (TOKEN.encode(), rest)
    assert tokens.read(200, body, Redactor(), endpoint="x").access_token == TOKEN
    assert secrets_in("", body) == secrets_in("", b"\xef\xbb\xbf" + body) == [TOKEN]


@pytest.mark.parametrize("body", ['{"access_token": ["%s"]}', '{"access_token": {"value": "%s"}}'])
def test_a_token_in_an_answer_of_another_shape_is_secret_too(body: str) -> None:
    assert secrets_in("", (body % TOKEN).encode()) == [TOKEN]


def test_a_server_that_makes_up_secrets_without_end_fills_no_memory() -> None:
    many = ["x" * 100_000, *(f"{at:05}" for at in range(64))]
    assert secrets_in("", json.dumps({"access_token": many}).encode()) == many[1:17]


def test_of_a_long_body_the_beginning_is_shown_without_the_secret_that_is_cut() -> None:
    text = shown((), TOKEN * 40_000, lambda text: text.replace(TOKEN, "-"))
    assert TOKEN[:8] not in text
    long = shown((), "x" * 100_000)
    assert len(long) < 70_000 and long.endswith("characters more")


def test_forms_are_looked_through_too() -> None:
    form = "application/x-www-form-urlencoded"
    assert secrets_in(form, b"access_token=%b&scope=a" % TOKEN.encode()) == [TOKEN]
    assert secrets_in(form, b"") == secrets_in(form, b"<html>") == []
