"""Command lines of ours: short where that says the same, and always what a shell reads as the call."""

from __future__ import annotations

import shlex

import pytest

from mcp_studio.call.copying.formats import copy_as
from mcp_studio.catalog.listing import EntryKind
from mcp_studio.config.model import ServerConfig, Source, Tls
from mcp_studio.jsontext import Json, loads
from tests.call.copying.kit import HOME, OPEN, subject

TYPED: Json = {
    "inputSchema": {
        "type": "object",
        "properties": {"n": {"type": "integer"}, "s": {"type": "string"}, "on": {"type": "boolean"}, "l": {}},
    }
}


def words(value: Json = None, name: str = "t", kind: EntryKind = "tool", **more: Json) -> list[str]:
    made = copy_as(subject(value, name, kind, **more), "command")
    assert not made.why_not
    found = shlex.split(made.text)
    assert found[0] == "mcp-studio"
    return found[1:]


@pytest.mark.parametrize(
    ("value", "wanted"),
    [
        (None, []),
        ({}, []),
        ({"n": 1, "s": "it's", "on": True}, ["n=1", "s=it's", "on=true"]),
        ({"s": ""}, ["s="]),
        ({"s": "1"}, ["s=1"]),
        ({"l": [1, 2]}, ["l=[1,2]"]),
        ({"l": "1"}, ['l:="1"']),
        ({"s": None}, ["s:=null"]),
        ({"s": "a\nb"}, ["--args", '{"s":"a\\nb"}']),
        ({"s": "x" * 61}, ["--args", '{"s":"%s"}' % ("x" * 61)]),
        ({"s": "\u202e"}, ["--args", '{"s":"\\u202e"}']),
        ({"-x": 1}, ["--args", '{"-x":1}']),
        ({"n": loads("1.0", exact=True)}, ["n=1.0"]),
    ],
)
def test_arguments_are_pairs_where_pairs_say_the_same(value: Json, wanted: list[str]) -> None:
    assert words(value, tool=TYPED) == ["call", "lib.t", *wanted]


@pytest.mark.parametrize(
    ("server", "kind", "name", "wanted"),
    [
        ("a.b", "tool", "t", ["call", "--server=a.b", "--tool=t"]),
        ("s", "tool", "a.b", ["call", "s.a.b"]),
        ("s", "tool", "-t", ["call", "--server=s", "--tool=-t"]),
        ("s", "prompt", "p", ["get", "s.p"]),
        ("s", "resource", "x://y z", ["read", "s", "x://y z"]),
    ],
)
def test_what_is_called_is_named_so_that_it_is_found(
    server: str, kind: EntryKind, name: str, wanted: list[str]
) -> None:
    assert words(None, name, kind, server=ServerConfig(server, source=HOME), tool=OPEN) == wanted


def test_a_server_that_the_usual_files_do_not_have_is_told() -> None:
    other = ServerConfig("s", command="srv", source=Source("file", "/a b/mcp.json"))
    assert words(server=other) == ["call", "s.t", "--config", "/a b/mcp.json"]
    assert words(server=ServerConfig("target", command="srv")) == ["call", "t", "--", "srv"]


def test_a_task_is_called_as_one() -> None:
    assert words(task=True)[-1] == "--task"


def test_the_server_is_told_with_all_that_the_call_depends_on() -> None:
    server = ServerConfig(
        "s", command="srv", args=("-x", "a b"), env={"A": "1"}, cwd="/w d", era="legacy", client_info={"name": "me"}
    )
    made = copy_as(subject(None, "a.b", server=server), "standalone").text
    assert shlex.split(made) == [
        "cd", "/w d", "&&", "mcp-studio", "call", "--tool=a.b", "--era", "legacy", "--client-info", '{"name":"me"}',
        "--", "env", "A=1", "srv", "-x", "a b",
    ]  # fmt: skip
    remote = ServerConfig("s", url="http://h/sse?a=1&b=2", transport="sse", protocol_version="2024-11-05")
    assert shlex.split(copy_as(subject(None, "t", server=remote), "standalone").text)[3:] == [
        "--protocol-version", "2024-11-05", "--url", "http://h/sse?a=1&b=2", "--transport", "sse",
    ]  # fmt: skip
    inhouse = ServerConfig("s", url="https://h/mcp", tls=Tls("/a b.pem", "/me.pem", "/me.key", "hush-hush", True))
    made = copy_as(subject(None, "t", server=inhouse), "standalone").text
    assert shlex.split(made)[3:] == [
        "--url", "https://h/mcp", "--ca", "/a b.pem", "--cert", "/me.pem", "--cert-key", "/me.key", "--insecure",
    ]  # fmt: skip


def test_curl_gets_the_certificates_that_the_server_has() -> None:
    server = ServerConfig("s", url="https://h/mcp", era="modern", tls=Tls("/a b.pem", "/me.pem", insecure=True))
    said = shlex.split(copy_as(subject({}, "t", server=server), "curl").text)
    assert said[said.index("--cacert") :][:5] == ["--cacert", "/a b.pem", "--cert", "/me.pem", "--insecure"]


def test_arguments_that_are_no_object_are_refused() -> None:
    assert "are an object" in copy_as(subject([1]), "command").why_not
    assert copy_as(subject([1]), "json").text
