"""A call is read from whatever people copy; what is none is told in a sentence, and nothing is run."""

from __future__ import annotations

import json
import time

import pytest

from mcp_studio.call.copying.paste import FLAGS, LARGEST, Pasted, PasteProblem, read_paste
from mcp_studio.cli.grammar import VERBS
from mcp_studio.jsontext import dumps

RPC = '{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"echo","arguments":{"a":1.50},"_meta":{"x":1}}}'
OURS = "mcp-studio command line"


@pytest.mark.parametrize(
    ("text", "form", "kind", "server", "name"),
    [
        ('{"a": 1.50}', "JSON", "", "", ""),
        ('// why\n{"a": 1.50, /* x */}', "JSON", "", "", ""),
        ('```json\n{"a": 1.50}\n```\n', "JSON", "", "", ""),
        (RPC, "JSON-RPC request", "tool", "", "echo"),
        ('{"name":"echo","arguments":{"a":1.50}}', "params of a call", "", "", "echo"),
        ("$ mcp-studio call lib.echo a:=1.50 --yes", OURS, "tool", "lib", "echo"),
        ("mcp-studio call lib.echo \\\n  --args '{\"a\":1.50}' \\\n  --json | jq .", OURS, "tool", "lib", "echo"),
        ("cd /x && uvx mcp-studio call --tool=echo a:=1.50 -- npx -y lib", OURS, "tool", "", "echo"),
        ("python -m mcp_studio call --server lib --tool=echo --args '{\"a\":1.50}'", OURS, "tool", "lib", "echo"),
        (f"curl -X POST http://h/mcp -H 'A: b' -d '{RPC}'", "curl command with a JSON-RPC request", "tool", "", "echo"),
        (f"$ curl http://h/mcp \\\n --json '{RPC}'", "curl command with a JSON-RPC request", "tool", "", "echo"),
        ("curl h -d'{\"a\":1.50}'", "curl command with JSON", "", "", ""),
        ("curl h --data-raw $'{\\n\"a\": 1.50}'", "curl command with JSON", "", "", ""),
    ],
)  # fmt: skip
def test_a_call_is_read_from(text: str, form: str, kind: str, server: str, name: str) -> None:
    found = read_paste(text)
    assert (found.form, found.kind, found.server, found.name) == (form, kind, server, name)
    if found.pairs:
        assert found.pairs == ("a:=1.50",)
    else:
        assert dumps(dict(found.arguments)) == b'{"a":1.50}'
    assert "1 argument" in found.says()


def test_prompts_and_resources() -> None:
    found = read_paste('{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"file:///a"}}')
    assert (found.kind, found.name, found.says()) == ("resource", "file:///a", "JSON-RPC request: reading file:///a")
    found = read_paste("mcp-studio get lib.hello who='Ada L.' b=1")
    assert (found.kind, found.name, found.pairs) == ("prompt", "hello", ("who=Ada L.", "b=1"))
    assert found.says() == "mcp-studio command line: prompt hello, 2 arguments"
    found = read_paste("mcp-studio read lib file:///{path} path=x")
    assert (found.kind, found.server, found.name, found.pairs) == ("resource", "lib", "file:///{path}", ("path=x",))


def test_arguments_that_look_like_something_else_stay_arguments() -> None:
    for value in (
        {"method": "GET", "url": "x"},
        {"type": "function", "name": "x"},
        {"name": "x", "arguments": {}, "more": 1},
        {"content": "x", "role": "user"},
        {"body": {"a": 1}},
        {"messages": [{"role": "user", "content": "hi"}]},
    ):
        assert read_paste(json.dumps(value)) == Pasted("JSON", value)


@pytest.mark.parametrize(
    ("text", "words", "line"),
    [
        ("", "Expected: arguments as JSON", 0),
        ("hello there", "nothing that is known. Expected", 0),
        ('{"a": 1,\n "b" 2}', "looks like JSON, but is not valid", 2),
        ("[1, 2]", "a list; arguments are an object", 0),
        ("[", "not valid", 1),
        ('"text"', "a single value", 0),
        ('{"jsonrpc":"2.0","id":1,"method":"tools/list"}', "JSON-RPC message of tools/list", 0),
        ('{"jsonrpc":"2.0","id":1,"result":{}}', "a JSON-RPC answer", 0),
        ("mcp-studio list tools", "its verb is list", 0),
        ("mcp-studio call x.y 'a=1", "A quote is not closed", 1),
        ("mcp-studio call x.y --args @f", "in a file, which is not read", 0),
        ("mcp-studio call x.y a", "`a` is not of the form key=value", 0),
        ("mcp-studio call x.y --args [1]", "no object", 0),
        ("curl http://h/", "no JSON body", 0),
        ("curl http://h/ -d @/etc/passwd", "file /etc/passwd, which is not read", 0),
        ("curl http://h/ -d a=1", "body of the curl command: it looks like", 0),
        ("{'a': 1}", "not valid", 1),
        ('await client.call_tool("echo", {"a": 1})', "nothing that is known. Expected", 0),
        ("[" * 100_000 + "]" * 100_000, "nested deeper", 0),
    ],
)  # fmt: skip
def test_what_is_no_call_is_told(text: str, words: str, line: int) -> None:
    with pytest.raises(PasteProblem) as problem:
        read_paste(text)
    assert words in str(problem.value)
    assert problem.value.line == line
    assert len(str(problem.value)) < 600


def test_left_out_secrets_are_told() -> None:
    assert "stands for a secret" in read_paste('{"a": "‹redacted›"}').remarks[0]


@pytest.mark.parametrize(
    "text",
    [
        "x" * (LARGEST + 1),
        "mcp-studio call a.b c='" + "x" * 1_000_000 + "'",
        "curl h -d '" + '{"a":"' + "y" * 1_000_000 + "\"}'",
        "curl h " + "\\" * 1_000_000,
        "curl h " + "'a'" * 300_000,
        "{" * 1_000_000,
        "[" + ",/*" * 300_000,
        '"' * 1_000_000,
        "```" + " \n" * 500_000,
        "data: " * 200_000,
        "a{" * 500_000,
    ],
    ids=range(11),
)
def test_large_and_hostile_texts_take_little_time(text: str) -> None:
    began = time.process_time()
    try:
        read_paste(text)
    except PasteProblem:
        pass
    assert time.process_time() - began < 2


def test_the_options_without_a_value_are_those_of_the_command_line() -> None:
    flags = [one for verb in VERBS.values() for one in (*verb.options, *verb.shared) if not one.value]
    assert {name for one in flags for name in (one.name, one.short) if name} == FLAGS
