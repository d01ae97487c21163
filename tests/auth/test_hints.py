"""What is said about servers that need a sign-in: the command that helps, where one does."""

from __future__ import annotations

from dataclasses import replace

import pytest

from mcp_studio.auth.hints import add_hint, wants
from mcp_studio.config.model import Auth, ServerConfig, Source
from mcp_studio.transport.http_errors import HttpSignIn

SERVER = ServerConfig("my notes", url="https://mcp.example/mcp", source=Source("user", "config.toml"))


@pytest.mark.parametrize(
    ("challenge", "hint"),
    [
        ("", "as it was"),
        ("Bearer", "Sign in: mcp-studio auth login 'my notes'"),
        ('bearer error="insufficient_scope", scope="a b"', "Sign in: mcp-studio auth login 'my notes' --scope 'a b'"),
        ('Basic realm="x", DPoP algs="ES256"', "Sign in: mcp-studio auth login 'my notes'"),
        ('Basic realm="staging"', "as it was"),
        ("Negotiate", "as it was"),
    ],
)
def test_the_command_is_named_where_signing_in_helps(challenge: str, hint: str) -> None:
    error = HttpSignIn("no", hint="as it was", challenge=challenge)
    add_hint(error, SERVER)
    assert error.hint == hint and error.by_login == ("auth login" in hint)


def test_where_nobody_can_sign_in_the_entry_is_what_is_to_be_looked_at() -> None:
    auth = Auth(kind="client_credentials", client_id="me", client_secret="${keyring:tickets}")
    error = HttpSignIn("no", challenge='bearer error="insufficient_scope", scope="a b"')
    add_hint(error, replace(SERVER, name="notes", auth=auth))
    assert "auth login" not in error.hint and not error.by_login
    assert "check [servers.notes.auth]" in error.hint


def test_a_reason_that_says_the_same_is_not_said_twice() -> None:
    assert wants("notes", "127.0.0.1:8701 requires you to sign in.") == "notes requires you to sign in."
    assert wants("notes", "", how=" (t is waiting)") == "notes requires you to sign in (t is waiting)."
    assert wants("notes", "h requires the scope a.") == "notes requires you to sign in: h requires the scope a."


def test_the_command_names_the_file_of_a_server_that_stands_in_another_one() -> None:
    error = HttpSignIn("It wants it.", challenge="Bearer")
    add_hint(error, replace(SERVER, source=Source("file", "/tmp/my mcp.json")))
    assert error.hint == "Sign in: mcp-studio auth login 'my notes' --config '/tmp/my mcp.json'"
