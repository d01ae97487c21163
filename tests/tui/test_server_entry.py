"""A server's entry as the value of a form: nothing is lost on the way, and what is wrong is named where it stands."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from mcp_studio.config.model import Auth, Root, ServerConfig, Timeouts, Tls
from mcp_studio.config.servers import to_table
from mcp_studio.errors import ConfigError
from mcp_studio.jsontext import ExactFloat
from mcp_studio.protocol.versions import LOG_LEVELS
from mcp_studio.schema.check import quick
from mcp_studio.tui.screens.roots import roots_form, roots_of, roots_value
from mcp_studio.tui.screens.server_entry import (
    merged,
    pasted_servers,
    pointer_of,
    secret_warnings,
    server_form,
    server_of,
    value_of,
)

BENT = ServerConfig(
    "s",
    command="x",
    transport="stdio",
    protocol_version="2025-06-18",
    capabilities={"sampling": {"tools": {}}},
    client_info={"name": "else", "version": "1"},
    log_level="warning",
    timeouts=Timeouts(1.5, None, 300.0),
    roots=(Root("~/a"), Root("file:///b", "B")),
)
ENTRIES = (
    BENT,
    ServerConfig("s", "npx", ("-y", "a b", ""), {"A": "1", "B": ""}, ("HOME",), "/tmp", era="legacy", trust=True),
    ServerConfig("s", url="https://e.example/mcp", headers={"Authorization": "Bearer ${keyring:x}"}, priority=-3),
    ServerConfig("s", url="ws://h/", transport="websocket", enabled=False, group="far"),
    ServerConfig(
        "s",
        url="https://e.example/mcp",
        auth=Auth("client_credentials", "me", client_id="c", client_secret="${S}", scopes=("a", "b"), redirect_port=81),
        tls=Tls("~/ca.pem", "c.pem", insecure=True),
    ),
    ServerConfig("an.odd/name", url="${BASE}/mcp", capabilities={}),
)
FAR: dict[str, Any] = {"connect": {"url": "https://a"}}
WORDS = some.text(some.characters(codec="utf-8", exclude_categories=("Cs",)), min_size=1, max_size=6).filter(
    lambda text: text == text.strip()
)
KEYS = some.from_regex(r"[A-Za-z_-]{1,8}", fullmatch=True)
PAIRS = some.dictionaries(KEYS, some.text(max_size=5), max_size=3)
OPEN = some.none() | some.fixed_dictionaries({}, optional={"roots": some.just({"listChanged": True})})
COMMON: dict[str, Any] = {
    "name": KEYS,
    "enabled": some.booleans(),
    "trust": some.booleans(),
    "group": some.just("") | some.from_regex(r"[^\s.,@]{1,4}", fullmatch=True),
    "priority": some.integers(-99, 99),
    "log_level": some.sampled_from(("", *LOG_LEVELS)),
    "capabilities": OPEN,
    "timeouts": some.builds(Timeouts, *[some.none() | some.floats(0.1, 1e5)] * 3, option=some.just("")),
    "roots": some.lists(some.builds(Root, WORDS, WORDS | some.just("")), max_size=3).map(tuple),
}
COMMANDS = some.builds(
    ServerConfig,
    **COMMON,
    command=KEYS,
    args=some.lists(some.text(max_size=4), max_size=3).map(tuple),
    env=PAIRS,
    inherit_env=some.lists(WORDS, max_size=2).map(tuple),
    cwd=WORDS | some.just(""),
)
URLS = some.builds(
    ServerConfig,
    **COMMON,
    url=KEYS.map(lambda host: f"https://{host}/"),
    headers=PAIRS,
    transport=some.sampled_from(("", "http", "sse")),
    auth=some.just(Auth()) | some.builds(Auth, client_id=KEYS, scopes=some.lists(KEYS, unique=True).map(tuple)),
    tls=some.builds(Tls, ca=KEYS, insecure=some.booleans()),
)


@settings(max_examples=25, deadline=None)
@given(COMMANDS | URLS | some.sampled_from(ENTRIES))
def test_an_entry_goes_into_the_form_and_comes_back_as_it_was(server: ServerConfig) -> None:
    again = server_of(value_of(server), server)
    assert again == server and to_table(again) == to_table(server)
    assert quick(server_form(), value_of(server)) == ()


@settings(max_examples=25, deadline=None)
@given(
    some.recursive(
        some.none() | some.booleans() | some.integers() | some.text(max_size=3),
        lambda inner: (
            some.lists(inner, max_size=2)
            | some.dictionaries(some.sampled_from(("name", "connect", "command", "url", "advanced")), inner)
        ),
        max_leaves=6,
    )
)
def test_whatever_is_written_as_json_gives_an_entry_or_a_reason(value: Any) -> None:
    secret_warnings(value)
    try:
        assert server_of(value, ServerConfig("")).name
    except ConfigError as problem:
        assert problem.message


def test_the_form_shows_what_is_written_and_never_the_secret() -> None:
    written = ServerConfig("s", "x", env={"TOKEN": "${TOKEN}"})
    ready = replace(written, env={"TOKEN": "abcdef"}, secrets=("abcdef",), written=written)
    assert "abcdef" not in str(value_of(ready))
    assert server_of(value_of(ready), ready) == written


@pytest.mark.parametrize(
    ("changes", "place", "words"),
    [
        ({"name": "a/b"}, "/name", "letters"),
        ({"name": ""}, "/name", "letters"),
        ({"connect": {}}, "/connect/command", "required"),
        ({"connect": {"command": " "}}, "/connect", "neither a command nor a url"),
        ({"connect": {"command": "https://x", "args": ["-y"]}}, "/connect/command", "choose URL"),
        ({"connect": {"command": "x", "args": [1]}}, "/connect/args/0", "text"),
        ({"connect": {"command": "x", "env": {"A B": "c"}}}, "/connect/env/A B", "no spaces"),
        ({"connect": {"url": "npx -y"}}, "/connect/url", "does not begin with http://"),
        ({"connect": {"url": "https://a b"}}, "/connect/url", "has a space"),
        ({"advanced": {"auth": {"kind": "workload"}}} | FAR, "/advanced/auth/assertion", "needed"),
        ({"advanced": {"tls": {"key": "k"}}} | FAR, "/advanced/tls/key", "without a client"),
        ({"advanced": {"tls": {"ca": "k"}}}, "/advanced/tls", "for servers at a url"),
        ({"advanced": {"transport": "sse"}}, "/advanced/transport", "has a command"),
        ({"advanced": {"era": "legacy", "protocol_version": "2026-07-28"}}, "/advanced/protocol_version", "legacy"),
        ({"advanced": {"capabilities": []}}, "/advanced/capabilities", "object"),
        ({"advanced": {"client_info": {"icons": [{"src": None}]}}}, "/advanced/client_info/icons/0/src", "null"),
        ({"advanced": {"priority": 1.5}}, "/advanced/priority", "whole number"),
        ({"advanced": {"timeouts": {"idle": "soon"}}}, "/advanced/timeouts/idle", "number"),
        ({"advanced": {"timeouts": {"total": 0}}}, "/advanced/timeouts/total", "more than 0"),
        ({"connect": {"command": "x", "args": ["\ud800"]}}, "/connect/args/0", "surrogate"),
    ],
)  # fmt: skip
def test_what_cannot_be_meant_names_its_place(changes: dict[str, Any], place: str, words: str) -> None:
    with pytest.raises(ConfigError) as failed:
        server_of(value_of(ServerConfig("s", "x")) | changes, ServerConfig(""))
    assert failed.value.key == place and words in failed.value.message


def test_numbers_are_written_as_numbers_are() -> None:
    more: Any = {"timeouts": {"idle": ExactFloat("1.50")}, "priority": 2}
    server = server_of(value_of(BENT) | {"advanced": more}, BENT)
    assert type(server.timeouts.idle) is float and server.priority == 2
    bent: Any = {"advanced": {"capabilities": {"experimental": {"x": [ExactFloat("0.10")]}}}}
    found: Any = server_of(value_of(BENT) | bent, BENT).capabilities
    assert found == {"experimental": {"x": [0.1]}} and str(found["experimental"]["x"][0]) == "0.10"


def test_roots_alone_go_the_same_way_without_those_that_are_empty() -> None:
    value: Any = roots_value(BENT.roots)
    assert quick(roots_form(), value) == ()
    assert roots_of(value) == roots_of({"roots": [*value["roots"], {}]}) == BENT.roots
    for bad, words in (([{"uri": " ", "name": "x"}], "is missing"), ([{"name": "x"}], "required")):
        with pytest.raises(ConfigError) as failed:
            roots_of({"roots": bad})
        assert failed.value.key == "/roots/0/uri" and words in failed.value.message


def test_a_second_paste_leaves_what_the_person_has_typed() -> None:
    blank = value_of(ServerConfig(""))
    first: Any = value_of(ServerConfig("git", "npx", ("-y", "git")))
    typed: Any = {
        **first,
        "name": "mine",
        "connect": {**first["connect"], "env": {"B": "2"}},
        "advanced": {"cwd": "/a"},
    }
    assert merged(blank, blank, first) == first
    second = value_of(ServerConfig("hub", "uvx", ("hub",)))
    assert merged(first, typed, second) == {
        "name": "mine",
        "connect": {"command": "uvx", "args": ["hub"], "env": {"B": "2"}},
        "advanced": {"cwd": "/a"},
    }
    far: Any = merged(
        first, {**typed, "advanced": {"era": "legacy"}}, value_of(ServerConfig("far", url="https://f", era="modern"))
    )
    assert far["connect"] == {"url": "https://f"} and far["advanced"] == {"era": "modern"}


def test_secrets_in_clear_are_warned_of_and_references_are_not() -> None:
    server = ServerConfig("s", "x", ("--token", "abc"), env={"API_KEY": "abc", "TOKEN": "${TOKEN}", "LANG": "de"})
    assert {problem.pointer for problem in secret_warnings(value_of(server))} == {
        "/connect/env/API_KEY",
        "/connect/args/1",
    }
    assert secret_warnings([]) == secret_warnings({"connect": {"env": 1}}) == ()
    far = ServerConfig(
        "s", url="https://a", auth=Auth(client_id="a", client_secret="b"), tls=Tls(cert="c", password="d")
    )
    warned = {problem.pointer for problem in secret_warnings(value_of(far))}
    assert warned == {"/advanced/auth/client_secret", "/advanced/tls/password"}


@pytest.mark.parametrize(
    ("key", "place"),
    [
        ("env.A.B", "/connect/env/A.B"), ("headers.x/y", "/connect/headers/x~1y"), ("args[3]", "/connect/args/3"),
        ("cwd", "/advanced/cwd"), ("client_info.icons[0].src", "/advanced/client_info/icons/0/src"),
        ("/name", "/name"), ("", ""),
    ],
)  # fmt: skip
def test_a_key_of_the_file_has_its_place_in_the_form(key: str, place: str) -> None:
    assert pointer_of(key) == place


@pytest.mark.parametrize(
    ("line", "server"),
    [
        ("claude mcp add -t http f https://a -H 'X: b'", ServerConfig("f", url="https://a", headers={"X": "b"})),
        ("claude mcp add --transport sse s https://a/sse", ServerConfig("s", url="https://a/sse", transport="sse")),
        ("$ claude mcp add s -e A=1 --env B=2 -- npx x", ServerConfig("s", "npx", ("x",), {"A": "1", "B": "2"})),
        ("codex mcp add s npx -y \\\n x", ServerConfig("s", "npx", ("-y", "x"))),
        ("https://a.example/mcp", ServerConfig("a", url="https://a.example/mcp")),
    ],
)  # fmt: skip
def test_what_other_clients_add_a_server_with_is_read(line: str, server: ServerConfig) -> None:
    assert pasted_servers(line) == [server]


@pytest.mark.parametrize("line", ["claude mcp add s", "claude mcp add 'open", "claude mcp add --env", "ftp://x/mcp"])
def test_a_line_that_adds_nothing_is_told(line: str) -> None:
    with pytest.raises(ConfigError):
        pasted_servers(line)
