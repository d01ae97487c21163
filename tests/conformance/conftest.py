"""The official conformance suite."""

from __future__ import annotations

import os
from collections.abc import Generator
from pathlib import Path

import pytest

from tests.conformance.suite import Suite
from tests.support import ROOT


@pytest.fixture(scope="module")
def suite() -> Generator[Suite]:
    """The suite; skips where it is not installed."""
    try:
        found = Suite(Path(os.environ.get("MCP_STUDIO_CONFORMANCE") or ROOT / ".ci" / "conformance"))
    except FileNotFoundError:
        pytest.skip("the conformance suite is not installed (set MCP_STUDIO_CONFORMANCE)")
    with found:
        yield found
