"""What `doctor` says of who is signed in to a server at a URL."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any
from unittest.mock import AsyncMock

import pytest

from mcp_studio.cli.verbs.doctor import remote
from mcp_studio.config.model import Auth, ServerConfig
from mcp_studio.redact import Redactor
from mcp_studio.session.state import Status


@pytest.mark.parametrize(
    "kind, words",
    [("", "nobody is: mcp-studio auth login "), ("client_credentials", "by itself (client_credentials)")],
)
async def test_nobody_is_told_to_sign_in_where_nobody_can(kind: Any, words: str) -> None:
    server = ServerConfig("one", url="https://one.example/mcp", auth=Auth(kind=kind))
    signing = SimpleNamespace(account=AsyncMock(return_value=None))
    studio: Any = SimpleNamespace(signing=signing, redactor=Redactor())
    facts = await remote(studio, server, Status("one", "needs_auth"))
    assert words in facts["access"] and facts["signIn"] == {"signedIn": False}
