"""One studio for all runs of a file: the server answers every call in a thread of its own."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from mcp_studio.studio import Studio
from tests.studio_support import opened
from tests.workflow.kit import server


@pytest.fixture
def log(tmp_path: Path) -> Path:
    """Where the server writes what it did."""
    return tmp_path / "log"


@pytest.fixture
async def studio(log: Path) -> AsyncGenerator[Studio]:
    """A studio on the server of small tools, which is trusted."""
    async with opened(server(log)) as studio:
        yield studio
