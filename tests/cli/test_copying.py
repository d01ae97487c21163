"""`--as` prints a call instead of making it, and `--from` reads one from what other programs write."""

from __future__ import annotations

import json
from pathlib import Path

from mcp_studio.call.copying.formats import FORMATS
from mcp_studio.cli.options import candidates
from mcp_studio.schema.examples import KINDS
from tests.cli.kit import RAW, cli, raw
from tests.support_servers import demo_http

NOBODY = ("--url", "http://127.0.0.1:1/mcp")
"""A server that is not there: whoever connects to it fails."""


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
    assert (
        raw("call", "echo", "text=a", "--args", '{"on": true}', "--as", "literal").out == "{'on': True, 'text': 'a'}\n"
    )
    assert message["params"]["arguments"] == {"a": 1, "b": 2} and done.code == 0
    assert message["method"] == "tools/call"


def test_what_cannot_be_said_is_told() -> None:
    assert "Streamable HTTP only" in raw("call", "echo", "--as", "curl", "--era", "legacy").err
    wrong = raw("call", "echo", "--as", "crul")
    assert wrong.code == 2 and "curl" in wrong.err


def test_a_call_is_read_from_a_file_or_standard_input(tmp_path: Path) -> None:
    request = '{"jsonrpc":"2.0","id":9,"method":"tools/call","params":{"name":"add","arguments":{"a":1,"b":2}}}'
    file = tmp_path / "request.json"
    file.write_text(request, "utf-8")
    assert raw("call", "--from", str(file)).out == "3\n"
    assert raw("call", "--from", "-", "b=5", given=f"curl http://h/mcp -d '{request}'").out == "6\n"
    assert raw("call", "add", "--from", "-", given='{"a": 3, "b": 4}').out == "7\n"
    assert raw("call", "--from", "-", given="$ mcp-studio call other.add a=1 \\\n  b=8").out == "9\n"


def test_what_is_no_call_is_told_with_its_line(tmp_path: Path) -> None:
    wrong = raw("call", "add", "--from", "-", given='{"a": 1,\n b}')
    assert wrong.code == 2 and "looks like JSON, but is not valid" in wrong.err
    other = cli("call", "--from", "-", *NOBODY, given='{"method":"prompts/get","params":{"name":"hello"}}')
    assert other.code == 2 and "mcp-studio get --from -" in other.err
    missing = cli("call", "echo", "--from", str(tmp_path / "no"), *NOBODY)
    assert missing.code == 2 and "cannot be read" in missing.err


def test_what_is_printed_runs_and_is_read_again() -> None:
    line = cli("call", "add", "a:=1", "b:=2", "--as", "standalone", "--", *RAW)
    assert line.code == 0, line.err
    assert raw("call", "--from", "-", given=line.out).out == "3\n"


def test_the_forms_are_completed() -> None:
    assert candidates(["call", "x", "--as", ""], list) == [*FORMATS, "literal"]


def test_arguments_that_are_not_given_are_made_up() -> None:
    done = raw("call", "add", "a=5", "--example", "typical", "--as", "json")
    assert json.loads(done.out).keys() == {"a", "b"} and json.loads(done.out)["a"] == 5
    assert "Example (typical): typical values." in done.err
    assert raw("call", "add", "a=5", "b=6", "--example", "full").out == "11\n"
    other = raw("call", "add", "--example", "typical", "--seed", "1", "--as", "json")
    assert json.loads(other.out) != json.loads(raw("call", "add", "--example", "typical", "--as", "json").out)


def test_what_makes_no_sense_is_told() -> None:
    wild = raw("call", "add", "--example", "typcal")
    assert wild.code == 2 and "choose from 'minimal', 'typical', 'full'" in wild.err
    assert "no whole number" in raw("call", "add", "--example", "full", "--seed", "x").err
    assert "--seed needs --example" in raw("call", "add", "--seed", "1").err


def test_shells_complete_every_kind() -> None:
    assert candidates(["call", "x", "--example", ""], list) == list(KINDS)
