"""What `doctor` says of who is signed in to a server at a URL."""

from __future__ import annotations

import pytest

from mcp_studio.cli.verbs.doctor import remote_lines
from mcp_studio.config.model import Auth, AuthKind, ServerConfig


@pytest.mark.parametrize(
    "kind, words",
    [("", "nobody is: mcp-studio auth login "), ("client_credentials", "by itself (client_credentials)")],
)
def test_nobody_is_told_to_sign_in_where_nobody_can(kind: AuthKind, words: str) -> None:
    server = ServerConfig("one", url="https://one.example/mcp", auth=Auth(kind=kind))
    report = {"tls": "", "proxy": None, "signIn": {"signedIn": False}, "state": "needs_auth"}
    (said,) = [line for line in remote_lines(report, server) if "signed in" in line]
    assert words in said
