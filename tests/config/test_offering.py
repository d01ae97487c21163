"""Secrets that stand in clear in an entry are found, and references put in their places."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from mcp_studio.config.expand import expanded, uses
from mcp_studio.config.model import Auth, Root, ServerConfig, Tls
from mcp_studio.config.secrets import ClearSecret, map_texts, offers, placed, texts
from mcp_studio.present.definition import cautions
from mcp_studio.redact import Redactor
from mcp_studio.vault import keyring

REMOTE = ServerConfig(
    "git hub",
    url="https://ada:pass-word@h/mcp?api_key=k-123&page=2",
    headers={"Authorization": "Bearer abc-def", "X-Api-Key": "key-123", "X-Plain": "seen"},
    auth=Auth(kind="client_credentials", client_id="me", client_secret="s3cret", scopes=("a", "b")),
    tls=Tls(cert="/c.pem", password="pw"),
)
LOCAL = ServerConfig(
    "local",
    command="docker",
    args=(
        *("run", "--token", "t-1", "--api-key=k=2", "-e", "API_TOKEN=t-3", "--header", "Authorization: Bearer t-4"),
        *("postgres://ada:pg-pass@db/x", "ghp_0123456789abcdefghijABCDEFGHIJ012345", "--token", "--verbose", "plain"),
    ),
    env={"GITHUB_TOKEN": "t-1", "PLAIN": "x", "MY_SECRET": "${HIDDEN}", "PASSWORD": "${keyring:pw}"},
    roots=(Root("/w"),),
)


def found(server: ServerConfig) -> dict[str, str]:
    return {f"{offer.key}={offer.name}": offer.value for offer in offers(server)}


def test_each_secret_of_a_remote_entry_is_offered_under_a_name_of_its_own() -> None:
    assert found(REMOTE) == {
        "url=git-hub-password": "pass-word",
        "url=git-hub-api-key": "k-123",
        "headers.Authorization=git-hub-authorization": "abc-def",
        "headers.X-Api-Key=git-hub-x-api-key": "key-123",
        "auth.client_secret=git-hub-client-secret": "s3cret",
        "tls.password=git-hub-password-2": "pw",
    }


def test_each_secret_of_a_local_entry_is_offered_and_one_value_has_one_name() -> None:
    assert found(LOCAL) == {
        "args[2]=local-token": "t-1",
        "args[3]=local-api-key": "k=2",
        "args[5]=local-api-token": "t-3",
        "args[7]=local-authorization": "t-4",
        "args[8]=local-password": "pg-pass",
        "args[9]=local-token-2": "ghp_0123456789abcdefghijABCDEFGHIJ012345",
        "env.GITHUB_TOKEN=local-token": "t-1",
    }


@pytest.mark.parametrize("entry", [REMOTE, LOCAL])
def test_what_is_kept_comes_back_to_its_place(entry: ServerConfig) -> None:
    chosen = offers(entry)
    kept = {offer.name: offer.value for offer in chosen}
    saved = placed(entry, chosen)
    assert not any(value in text for value in kept.values() for _, text in texts(saved))
    assert [offer for offer in offers(saved)] == []
    started = expanded(saved, {"HIDDEN": "h"}, lambda name: kept.get(name, "other"))
    before = expanded(entry, {"HIDDEN": "h"}, lambda _: "other")
    assert replace(started, written=None, secrets=()) == replace(before, written=None, secrets=())
    assert set(kept.values()) <= set(started.secrets)


def test_a_scheme_stays_readable() -> None:
    saved = placed(REMOTE, offers(REMOTE))
    assert saved.headers["Authorization"] == "Bearer ${keyring:git-hub-authorization}"
    assert saved.url == "https://ada:${keyring:git-hub-password}@h/mcp?api_key=${keyring:git-hub-api-key}&page=2"
    assert placed(LOCAL, offers(LOCAL)).args[7] == "Authorization: Bearer ${keyring:local-authorization}"


def test_another_name_may_be_chosen_and_one_that_is_taken_is_not(tmp_path: Path) -> None:
    (offer,) = offers(ServerConfig("s", url="https://h", headers={"Cookie": "sid=1"}))
    assert offer == ClearSecret("headers.Cookie", 0, 5, "sid=1", "s-cookie")
    keyring.use("memory", tmp_path)
    same = [ServerConfig("s", url="https://h", headers={"Cookie": cookie}) for cookie in ("sid=1", "sid=2", "sid=1")]
    moved = [server.headers["Cookie"] for server in keyring.move(same, Redactor())]
    assert moved == ["${keyring:s-cookie}", "${keyring:s-cookie-2}", "${keyring:s-cookie}"]
    assert keyring.lookup("s-cookie-2") == "sid=2"
    keyring.use("keyring", tmp_path)
    saved = placed(ServerConfig("s", url="https://h", headers={"Cookie": "sid=1"}), [offer._replace(name="mine")])
    assert saved.headers == {"Cookie": "${keyring:mine}"}


@pytest.mark.parametrize("text", ["${T}", "Bearer ${keyring:x}", "${T:-default}", "$${literal", "a ${env:T} b"])
def test_what_refers_to_something_is_left_alone(text: str) -> None:
    assert offers(ServerConfig("s", url="https://h", headers={"Authorization": text})) == ()


@pytest.mark.parametrize(
    "args", [("--url=https://h/x",), ("--no-token",), ("C:\\secret",), ("keys:x",), ("a=b",), ("-e",)]
)
def test_what_only_resembles_a_secret_is_not_offered(args: tuple[str, ...]) -> None:
    assert offers(ServerConfig("s", command="c", args=args)) == ()


def test_the_key_of_a_client_is_offered_where_it_is_not_the_name_of_a_file() -> None:
    pem = "-----BEGIN PRIVATE KEY-----\nabc\n-----END PRIVATE KEY-----"
    assert found(ServerConfig("s", url="https://h", auth=Auth(key=pem))) == {"auth.key=s-key": pem}
    assert offers(ServerConfig("s", url="https://h", auth=Auth(key="key.pem"))) == ()


def test_it_is_known_where_kept_secrets_are_used() -> None:
    entry = ServerConfig(
        "s",
        command="c",
        args=("--a=${keyring:one}${keyring:two}", "$${keyring:three}"),
        env={"B": "${keyring:one}"},
        capabilities={"experimental": {"x": ["y", "${keyring:deep}"]}},
    )
    found = [("one", "args[0]"), ("two", "args[0]"), ("one", "env.B"), ("deep", "capabilities.experimental.x[1]")]
    assert list(uses(entry)) == found


def test_texts_are_changed_by_their_keys_and_no_others() -> None:
    for entry in (REMOTE, LOCAL):
        changed = map_texts(entry, lambda _, text: text + "!")
        assert dict(texts(changed)) == {key: text + "!" for key, text in texts(entry)}
        assert map_texts(changed, lambda _, text: text.removesuffix("!")) == entry


def test_who_is_asked_about_a_projects_file_is_told_which_secrets_it_gets() -> None:
    entry = ServerConfig("s", url="https://${keyring:b}.h", headers={"A": "${keyring:a}", "B": "${keyring:a}"})
    assert cautions(entry) == ["gets your stored secrets a, b"] and cautions(ServerConfig("s", url="https://h")) == []
