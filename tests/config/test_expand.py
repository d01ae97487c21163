"""References in entries, and which values are secret."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_studio.config.expand import effective, expanded
from mcp_studio.config.model import ServerConfig, Source
from mcp_studio.errors import ConfigError
from tests.config.helpers import keyring

ENVIRON = {"HOME": "/home/ada", "USER_ID": "ada-17x", "EMPTY": "", "MY_TOKEN": "t0ken-value", "ROOT": "/srv/data"}


def value(text: str) -> str:
    return expanded(ServerConfig("s", args=(text,)), ENVIRON, keyring, "/w").args[0]


@pytest.mark.parametrize(
    ("text", "result"),
    [
        ("plain $HOME", "plain $HOME"),
        ("${HOME}/x", "/home/ada/x"),
        ("${env:HOME}/${USER_ID}", "/home/ada/ada-17x"),
        ("${NOPE:-default}", "default"),
        ("${NOPE:-}", ""),
        ("${EMPTY:-default}", "default"),
        ("${EMPTY}", ""),
        ("${env:NOPE:-d}", "d"),
        ("${keyring:github}", "gh-secret-1"),
        ("${workspaceFolder}/a", "/w/a"),
        ("${userHome}", "/home/ada"),
        ("$${HOME}", "${HOME}"),
        ("${X%.*} ${X:0:3} ${!a} ${} ${", "${X%.*} ${X:0:3} ${!a} ${} ${"),
    ],
)
def test_references(text: str, result: str) -> None:
    assert value(text) == result


def test_what_cannot_be_replaced_names_the_key_and_what_is_near() -> None:
    with pytest.raises(ConfigError, match="MY_TOKE is not set") as raised:
        value("${MY_TOKE}")
    assert raised.value.key == "args[0]" and "`MY_TOKEN`" in raised.value.hint
    with pytest.raises(ConfigError, match="only its own client") as raised:
        value("${input:key}")
    assert "${keyring:key}" in raised.value.hint


@given(st.text(alphabet="${}:-abA_ ") | st.text())
def test_any_text_is_replaced_or_refused_in_words(text: str) -> None:
    try:
        value(text)
    except ConfigError as problem:
        assert problem.message


def done(server: ServerConfig) -> ServerConfig:
    return expanded(server, ENVIRON, keyring, "/w")


def test_values_of_references_are_secret_but_for_paths_and_numbers() -> None:
    server = done(ServerConfig("s", args=("${MY_TOKEN}", "${ROOT}", "${HOME}", "${USER_ID}", "${NO:-default}")))
    assert server.secrets == ("t0ken-value", "ada-17x")


@pytest.mark.parametrize(
    "server",
    [
        ServerConfig("s", env={"API_KEY": "hidden"}),
        ServerConfig("s", headers={"X-Api-Key": "hidden"}),
        ServerConfig("s", args=("--api-key", "hidden")),
        ServerConfig("s", args=("--token=hidden",)),
        ServerConfig("s", url="https://h/?token=hidden&a=b"),
        ServerConfig("s", url="https://hidden@h/"),
        ServerConfig("s", args=("postgres://ada:hidden@h/db",)),
        ServerConfig("s", env={"DATABASE_URL": "postgres://ada:hidden@h/db"}),
    ],
)
def test_values_in_telling_places_are_secret(server: ServerConfig) -> None:
    assert done(server).secrets == ("hidden",)


def test_a_quoted_password_in_a_url_is_also_secret_as_it_is() -> None:
    server = done(ServerConfig("s", url="https://ada:pass%2Fword@h/?token=a%3Db"))
    assert server.secrets == ("pass%2Fword", "pass/word", "a%3Db", "a=b")


def test_values_elsewhere_are_not() -> None:
    server = ServerConfig(
        "s", command="x", args=("--token", "--flag", "v", "--name", "n"), env={"A": "b"}, url="http://h?q=1"
    )
    assert done(server).secrets == ()


def test_the_entry_as_written_is_kept_and_can_be_expanded_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    written = ServerConfig("s", command="~/bin/x", env={"A": "${HOME}"}, cwd="sub")
    server = done(written)
    assert server.written == written
    assert (server.command, server.env, server.cwd) == ("/home/ada/bin/x", {"A": "/home/ada"}, "/w/sub")
    again = effective(server, {"HOME": "/other"})
    assert again.env == {"A": "/other"} and again.written == written


def test_the_workspace_of_a_file_in_a_dot_folder_is_around_it(tmp_path: Path) -> None:
    for file, folder in ((tmp_path / ".vscode" / "mcp.json", tmp_path), (tmp_path / "x.toml", tmp_path)):
        server = ServerConfig("s", command="${workspaceFolder}/x", source=Source("file", str(file)))
        assert effective(server).command == f"{folder}/x"


def test_references_are_replaced_inside_declared_capabilities_and_who_we_say_to_be() -> None:
    capabilities = {"experimental": {"x": [1, None, "a ${keyring:github}", "$${x}"]}, "roots": {}}
    entry = ServerConfig("s", command="c", capabilities=capabilities, client_info={"name": "${A}", "version": "1"})
    done = expanded(entry, {"A": "me"}, keyring, "/w")
    assert done.capabilities == {"experimental": {"x": [1, None, "a gh-secret-1", "${x}"]}, "roots": {}}
    assert done.client_info == {"name": "me", "version": "1"} and "gh-secret-1" in done.secrets
    assert done.written is entry and expanded(ServerConfig("s", command="c"), {}, keyring).capabilities is None
    with pytest.raises(ConfigError) as raised:
        expanded(entry, {}, keyring)
    assert raised.value.key == "client_info.name"
