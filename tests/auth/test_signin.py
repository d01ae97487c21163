"""Signing in, end to end, against an authorization server of our own."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from mcp_studio.errors import UsageError
from tests.auth.signing import Desk, server, until, visit
from tests.servers.auth_server import AuthServer
from tests.support import run


def test_a_person_signs_in_and_everything_is_told_but_no_secret(tmp_path: Path) -> None:
    async def main() -> None:
        async with AuthServer() as world:
            desk = Desk(tmp_path)
            sign_in = await desk.done(server(world.url))
            assert sign_in.state == "done", (sign_in.error, sign_in.error.hint if sign_in.error else "")
            assert [step.state for step in sign_in.steps] == ["done"] * 6
            assert sign_in.account and sign_in.account.issuer == world.issuer.url and sign_in.account.refreshable
            assert sign_in.started_callback and len(desk.pages) == 1
            told = str(sign_in.steps) + str([step.exchanges for step in sign_in.steps])
            for secret in world.secrets():
                assert secret not in told, secret
            assert all(step.detail for step in sign_in.steps)
            assert {request.purpose for request in desk.tap.requests} >= {"registration", "token for the code"}

    run(main())
