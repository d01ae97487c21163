"""Nothing that is secret is copied: it is a reference, or left out, unless the person asks for it by name."""

from __future__ import annotations

import os
import shlex
import subprocess

import pytest

from mcp_studio.call.copying.formats import FORMATS, copy_as
from mcp_studio.call.copying.subject import address_of, in_shell
from mcp_studio.cli.targets import from_command, from_url
from mcp_studio.config.model import ServerConfig
from mcp_studio.redact import MARK
from tests.call.copying.kit import came, entry, subject

REMOTE = {
    "url": "https://user:hunter22@h.example/mcp?token=${TOK}",
    "headers": {"Authorization": "Bearer ${keyring:git-hub}", "X-Api-Key": "written-out", "X-Plain": "seen"},
}
LOCAL = {
    "command": "npx", "args": ("-y", "x", "--api-key", "written-out", "--token=also-written", "${TOK}"),
    "env": {"A": "${TOK}", "B": "pre-${TOK:-none}-post", "API_KEY": "short"},
}  # fmt: skip
HIDDEN = ("s3cr3t-of-env", "password of git-hub", "written-out", "also-written", "hunter22", "short")
SCHEMA = {
    "inputSchema": {
        "type": "object",
        "properties": {
            "pin": {"type": "string", "writeOnly": True, "format": "password"},
            "text": {"type": "string"},
        },
    }
}


@pytest.mark.parametrize("written", [REMOTE, LOCAL])
@pytest.mark.parametrize("version", ["2025-11-25", "2026-07-28"])
@pytest.mark.parametrize("secrets", [True, False])
def test_secrets_of_the_entry_are_references_in_every_form(
    written: dict[str, object], version: str, secrets: bool
) -> None:
    call = subject({"text": "hello"}, server=entry(**written), version=version)
    for form in FORMATS:
        made = copy_as(call, form, secrets=secrets)
        for secret in HIDDEN:
            assert secret not in made.text + " ".join(made.remarks), form
    python = copy_as(call, "python")
    assert 'os.environ["TOK"]' in python.text and "TOK has to be set" in " ".join(python.remarks)


def test_references_are_what_a_shell_fills_in() -> None:
    address = address_of(entry(**LOCAL), "stdio")
    line = " ".join(in_shell(words) for words in (*address.command, *address.env.values()))
    environ = {**os.environ, "TOK": "a b'c\"d", "API_KEY": "k", "TOKEN": "t"}
    done = subprocess.run(
        ["sh", "-c", f"printf '%s\\n' {line}"], env=environ, capture_output=True, text=True, timeout=60
    )
    tok = "a b'c\"d"
    assert done.stdout.splitlines() == [
        "npx",
        "-y",
        "x",
        "--api-key",
        "k",
        "--token=t",
        tok,
        tok,
        f"pre-{tok}-post",
        "k",
    ]


def test_a_header_is_given_to_our_own_command_line_as_it_is_written() -> None:
    made = copy_as(subject(server=entry(**REMOTE)), "standalone").text
    assert "--header 'Authorization: Bearer ${keyring:git-hub}'" in made
    assert "--header 'X-Api-Key: ${X_API_KEY}'" in made and "--header 'X-Plain: seen'" in made


def test_servers_of_the_command_line_keep_their_secrets_too() -> None:
    url = from_url("http://h.example/mcp", [("Authorization", "Bearer abc123xyz")])
    made = copy_as(subject(server=url), "curl").text
    assert "abc123xyz" not in made and '-H "Authorization: Bearer ${AUTHORIZATION}"' in made
    local = from_command(["srv", "--token", "abc123xyz"])
    assert shlex.split(copy_as(subject(server=local), "standalone").text)[-2:] == ["--token", "$TOKEN"]


@pytest.mark.parametrize(
    ("value", "hidden"),
    [
        ({"pin": "12345"}, ["12345"]),
        ({"deep": [{"api_key": "k1"}]}, ["k1"]),
        ({"credentials": {"user": "me1", "pins": ["p1", 4711]}}, ["me1", "p1", "4711"]),
        ({"text": "with s3cr3t-of-env in it"}, ["s3cr3t-of-env"]),
    ],
)
def test_secret_arguments_are_left_out_unless_asked_for(value: dict[str, object], hidden: list[str]) -> None:
    call = subject(value, server=entry(**REMOTE), tool=SCHEMA)
    for form in FORMATS:
        made = copy_as(call, form)
        assert not any(secret in made.text for secret in hidden), form
        assert MARK in made.text and MARK in made.remarks[-1], form
    shown = copy_as(call, "json", secrets=True)
    assert all(secret in shown.text for secret in hidden)
    assert "has secrets in it" in shown.remarks[-1]


def test_a_secret_in_the_last_result_is_not_expected_by_a_test() -> None:
    server = entry(**REMOTE)
    made = copy_as(subject(server=server, outcome=came({"echo": "s3cr3t-of-env"})), "pytest")
    assert "s3cr3t-of-env" not in made.text and "structured_content" not in made.text
    assert "structured_content == {" in copy_as(subject(server=server, outcome=came({"echo": "x"})), "pytest").text


def test_an_unknown_server_gives_what_needs_none() -> None:
    call = subject({"a": 1}, server=ServerConfig("x"))
    gone = type(call)(call.ref, call.value)
    assert copy_as(gone, "json").text and copy_as(gone, "command").text and copy_as(gone, "json-rpc").text
    assert "no server" in copy_as(gone, "python").why_not
