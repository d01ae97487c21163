"""What `doctor` says of who is signed in to a server at a URL."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any
from unittest.mock import AsyncMock

import pytest

from mcp_studio.cli.verbs.doctor import Report, add_remote
from mcp_studio.config.model import Auth, AuthKind, ServerConfig


@pytest.mark.parametrize(
    "kind, words",
    [("", "nobody is: mcp-studio auth login "), ("client_credentials", "by itself (client_credentials)")],
)
async def test_nobody_is_told_to_sign_in_where_nobody_can(kind: AuthKind, words: str) -> None:
    report = Report(ServerConfig("one", url="https://one.example/mcp", auth=Auth(kind=kind)), "needs_auth")
    studio: Any = SimpleNamespace(signing=SimpleNamespace(account=AsyncMock(return_value=None)))
    await add_remote(report, studio)
    (said,) = [line for line in report.lines if "signed in" in line]
    assert words in said and report.facts["signIn"] == {"signedIn": False}
