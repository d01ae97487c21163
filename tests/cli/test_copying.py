"""`--as` prints a call instead of making it."""

from __future__ import annotations

import json

from mcp_studio.call.copying.formats import IDS
from mcp_studio.cli.options import candidates
from tests.cli.kit import cli, raw
from tests.support_servers import demo_http


def test_a_call_is_printed_instead_of_being_made() -> None:
    done = raw("call", "echo", "--args", '{"text": "it\'s", "token": "abc123"}', "--as", "python")
    assert done.code == 0 and "await client.call_tool" in done.out, done
    assert "abc123" not in done.out and "‹redacted› stands for what is secret: token" in done.err
    shown = raw("call", "echo", "--args", '{"token": "abc123"}', "--as", "json", "--with-secrets", "--json")
    assert shown.json["result"] == {
        "form": "json", "text": '{\n  "token": "abc123"\n}', "remarks": ["It has secrets in it: token."],
    }  # fmt: skip
    assert "mcp-studio get greet " in raw("get", "greet", "--args", '{"who": "Ada"}', "--as", "command").out
    with demo_http() as url:
        read = cli("read", "shop://books/{id}", "id=a b", "--as", "curl", "--era", "modern", "--url", url)
    assert "-H 'Mcp-Name: shop://books/a%20b'" in read.out


def test_words_are_typed_by_the_schema_that_the_server_tells() -> None:
    done = raw("call", "add", "a=1", "b=2", "--as", "json-rpc")
    message = json.loads(done.out)
    assert message["params"]["arguments"] == {"a": 1, "b": 2} and done.code == 0
    assert message["method"] == "tools/call"


def test_what_cannot_be_said_is_told() -> None:
    assert "Streamable HTTP only" in raw("call", "echo", "--as", "curl", "--era", "legacy").err
    wrong = raw("call", "echo", "--as", "crul")
    assert wrong.code == 2 and "curl" in wrong.err


def test_the_forms_are_completed() -> None:
    assert candidates(["call", "x", "--as", ""], list) == list(IDS)
