"""A server that names metadata that may not be used is not taken for one of before such metadata."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.auth.signing import Desk, server
from tests.servers.auth_server import AuthServer


@pytest.mark.parametrize("manner", ["prm-elsewhere", "prm-cloud-challenge", "challenge-garbage"])
async def test_metadata_that_may_not_be_used_is_no_reason_for_older_ways(manner: str, tmp_path: Path) -> None:
    async with AuthServer(manner, prm="none") as world:
        signed = await Desk(tmp_path).done(server(world.url))
        assert signed.state == "failed" and signed.error
        assert "names its metadata" in signed.error.message and "own origin" in signed.error.hint
        asked = {request.path for request in world.requests}
        assert not asked & {"/metadata", "/register", "/token", "/authorize"}, asked
