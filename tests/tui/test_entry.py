"""A server's entry as the value of a form: nothing is lost on the way, and what is wrong is named where it stands."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as some
from mcp_studio.tui.entering import is_url, meant, merged, pointer_of, secret_warnings, words_of
from mcp_studio.tui.entry import roots_of, roots_value, server_of, value_of
from mcp_studio.tui.server_form import roots_form, server_form

from mcp_studio.config.model import Auth, Root, ServerConfig, Timeouts, Tls
from mcp_studio.config.servers import to_table
from mcp_studio.errors import ConfigError
from mcp_studio.jsontext import ExactFloat
from mcp_studio.protocol.versions import LOG_LEVELS
from mcp_studio.schema.check import quick

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


@pytest.mark.parametrize("server", ENTRIES, ids=lambda server: server.url or server.command)
def test_an_entry_goes_into_the_form_and_back(server: ServerConfig) -> None:
    assert server_of(value_of(server), replace(ServerConfig(server.name), transport=server.transport)) == server
    assert quick(server_form(), value_of(server)) == ()


def test_the_form_shows_what_is_written_and_never_the_secret() -> None:
    written = ServerConfig("s", "x", env={"TOKEN": "${TOKEN}"})
    ready = replace(written, env={"TOKEN": "abcdef"}, secrets=("abcdef",), written=written)
    assert "abcdef" not in str(value_of(ready))
    assert server_of(value_of(ready), ready) == written


WORDS = some.text(some.characters(codec="utf-8", exclude_categories=("Cs",)), min_size=1, max_size=6).filter(
    lambda text: text == text.strip()
)
KEYS = some.from_regex(r"[A-Za-z_-]{1,8}", fullmatch=True)
PAIRS = some.dictionaries(KEYS, some.text(max_size=5), max_size=3)
OPEN = some.none() | some.dictionaries(
    KEYS, some.recursive(some.booleans() | some.integers(-9, 9) | WORDS, some.lists, max_leaves=4), max_size=2
)
COMMON: dict[str, Any] = {
    "name": KEYS,
    "enabled": some.booleans(),
    "trust": some.booleans(),
    "group": some.text(max_size=4),
    "priority": some.integers(-99, 99),
    "log_level": some.sampled_from(("", *LOG_LEVELS)),
    "capabilities": some.none() | some.fixed_dictionaries({}, optional={"roots": some.just({"listChanged": True})}),
    "client_info": some.none() | some.dictionaries(some.just("vendor"), WORDS, max_size=1),
    "timeouts": some.builds(Timeouts, *[some.none() | some.floats(0.1, 1e6)] * 3, option=some.just("")),
    "roots": some.lists(some.builds(Root, WORDS, WORDS | some.just("")), max_size=3).map(tuple),
}
COMMANDS = some.builds(
    ServerConfig,
    **COMMON,
    command=WORDS.filter(lambda text: not is_url(text)),
    args=some.lists(some.text(max_size=4), max_size=3).map(tuple),
    env=PAIRS,
    inherit_env=some.lists(WORDS, max_size=2).map(tuple),
    cwd=WORDS | some.just(""),
    transport=some.sampled_from(("", "stdio")),
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


@settings(max_examples=60, deadline=None)
@given(COMMANDS | URLS)
def test_every_entry_comes_back_as_it_was(server: ServerConfig) -> None:
    again = server_of(value_of(server), server)
    assert again == server and to_table(again) == to_table(server)


@settings(max_examples=40, deadline=None)
@given(
    some.recursive(
        some.none() | some.booleans() | some.integers() | some.text(max_size=3),
        lambda inner: (
            some.lists(inner, max_size=2)
            | some.dictionaries(some.sampled_from(("name", "connect", "command", "url", "roots")), inner)
        ),
        max_leaves=6,
    )
)
def test_whatever_is_written_as_json_gives_an_entry_or_a_reason(value: Any) -> None:
    try:
        assert server_of(value, ServerConfig("")).name
    except ConfigError as problem:
        assert problem.message


@pytest.mark.parametrize(
    ("changes", "place", "words"),
    [
        ({"name": "a/b"}, "/name", "letters"),
        ({"name": ""}, "/name", "letters"),
        ({"connect": {}}, "/connect/command", "required"),
        ({"connect": {"command": " "}}, "/connect/command", "no command"),
        ({"connect": {"command": "https://x", "args": ["-y"]}}, "/connect/command", "choose URL"),
        ({"connect": {"command": "x", "args": [1]}}, "/connect/args/0", "text"),
        ({"connect": {"command": "x", "env": {"A B": "c"}}}, "/connect/env/A B", "no spaces"),
        ({"connect": {"url": "npx -y"}}, "/connect/url", "begins with"),
        ({"connect": {"url": "https://a b"}}, "/connect/url", "no spaces"),
        ({"connect": {"url": "https://a", "transport": "websocket"}}, "/connect/transport", "not for an address"),
        ({"connect": {"url": "https://a", "auth": {"kind": "workload"}}}, "/connect/auth/assertion", "needed"),
        ({"connect": {"url": "https://a", "tls": {"key": "k"}}}, "/connect/tls/key", "without a client certificate"),
        ({"era": "legacy", "protocol": {"version": "2026-07-28"}}, "/protocol/version", "legacy"),
        ({"protocol": {"capabilities": []}}, "/protocol/capabilities", "object"),
        ({"protocol": {"client_info": {"icons": [{"src": None}]}}}, "/protocol/client_info/icons/0/src", "null"),
        ({"timeouts": {"idle": "soon"}}, "/timeouts/idle", "number"),
        ({"timeouts": {"total": 0}}, "/timeouts/total", "more than 0"),
        ({"roots": [{"name": "x"}]}, "/roots/0/uri", "required"),
        ({"connect": {"command": "x", "args": ["\ud800"]}}, "", "connect.args[0] has a lone surrogate"),
    ],
)
def test_what_cannot_be_meant_names_its_place(changes: dict[str, Any], place: str, words: str) -> None:
    with pytest.raises(ConfigError) as failed:
        server_of(value_of(ServerConfig("s", "x")) | changes, ServerConfig(""))
    assert failed.value.key == place and words in failed.value.message


def test_numbers_are_written_as_numbers_are() -> None:
    value = value_of(BENT) | {"timeouts": {"idle": ExactFloat("1.50")}, "priority": ExactFloat("2.0")}
    server = server_of(value, BENT)
    assert type(server.timeouts.idle) is float and type(server.priority) is int
    bent = {"protocol": {"capabilities": {"experimental": {"x": [ExactFloat("0.10")]}}}}
    found: Any = server_of(value | bent, BENT).capabilities
    assert type(found["experimental"]["x"][0]) is float


def test_roots_alone_go_the_same_way() -> None:
    assert roots_of(roots_value(BENT.roots)) == BENT.roots and quick(roots_form(), roots_value(BENT.roots)) == ()
    with pytest.raises(ConfigError) as failed:
        roots_of({"roots": [{"uri": "", "name": "x"}]})
    assert failed.value.key == "/roots/0/uri"


# What is meant


def test_addresses_and_commands_are_told_apart() -> None:
    assert [is_url(text) for text in ("https://x", "${BASE}/mcp", "npx", "/usr/bin/https")] == [
        True,
        True,
        False,
        False,
    ]


@pytest.mark.parametrize(
    ("connect", "wanted"),
    [
        ({"command": "https://x/mcp "}, {"url": "https://x/mcp"}),
        ({"command": "npx -y 'a b'"}, {"command": "npx", "args": ["-y", "a b"]}),
        ({"command": "$ A=1 npx x"}, {"command": "npx", "args": ["x"], "env": {"A": "1"}}),
        ({"command": "npx"}, None),
        ({"command": "npx 'open"}, None),
        ({"command": "npx -y", "args": ["x"]}, None),
        ({"command": "https://x", "env": {"A": "1"}}, None),
        ({"command": ""}, None),
        ({"command": 5}, None),
        ({}, None),
    ],
)
def test_a_line_in_the_place_of_a_command_is_taken_for_what_it_is(connect: Any, wanted: Any) -> None:
    value = {"name": "s", "connect": connect}
    assert meant(value) == {"name": "s", "connect": wanted or connect}


def test_a_program_with_a_space_in_its_path_stays_one(tmp_path: Any) -> None:
    program = tmp_path / "my server"
    program.touch()
    value = {"connect": {"command": str(program)}}
    assert meant(value) is value and meant(None) is None and meant({"connect": 1}) == {"connect": 1}


def test_a_line_of_arguments_is_split_as_a_shell_does() -> None:
    assert words_of("-y 'a b' \\\n --flag=x") == ["-y", "a b", "--flag=x"]
    assert words_of("it's") == [] and words_of("") == []


def test_a_second_paste_leaves_what_the_person_has_typed() -> None:
    blank = value_of(ServerConfig(""))
    first = value_of(ServerConfig("git", "npx", ("-y", "git")))
    typed = {**first, "name": "mine", "trust": True, "connect": {**first["connect"], "cwd": "/srv"}}  # type: ignore[dict-item]
    assert merged(blank, blank, first) == first
    second = value_of(ServerConfig("hub", "uvx", ("hub",), {"A": "1"}))
    assert merged(first, typed, second) == {
        **second,
        "name": "mine",
        "trust": True,
        "connect": {"command": "uvx", "args": ["hub"], "env": {"A": "1"}, "cwd": "/srv"},
    }
    remote = value_of(ServerConfig("far", url="https://far.example", era="modern"))
    assert merged(first, typed, remote)["connect"] == {"url": "https://far.example"}
    assert merged(first, {**typed, "era": "legacy"}, remote)["era"] == "modern"


def test_secrets_in_clear_are_warned_of_and_references_are_not() -> None:
    server = ServerConfig("s", "x", env={"API_KEY": "abc", "TOKEN": "${TOKEN}", "LANG": "de"})
    assert [problem.pointer for problem in secret_warnings(value_of(server))] == ["/connect/env/API_KEY"]
    assert secret_warnings([]) == secret_warnings({"connect": {"env": 1}}) == ()
    far = ServerConfig(
        "s", url="https://a", auth=Auth(client_id="a", client_secret="b"), tls=Tls(cert="c", password="d")
    )
    warned = [problem.pointer for problem in secret_warnings(value_of(far))]
    assert warned == ["/connect/auth/client_secret", "/connect/tls/password"]


@pytest.mark.parametrize(
    ("key", "place"),
    [
        ("env.A.B", "/connect/env/A.B"), ("headers.x/y", "/connect/headers/x~1y"), ("args[3]", "/connect/args/3"),
        ("roots[1]", "/roots/1/uri"), ("cwd", "/connect/cwd"), ("/name", "/name"), ("", ""),
    ],
)  # fmt: skip
def test_a_key_of_the_file_has_its_place_in_the_form(key: str, place: str) -> None:
    assert pointer_of(key) == place
