"""Fixtures for the tests of the demo server."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.demo.client import LEGACY, MODERN
from tests.support_servers import demo_http


@pytest.fixture(params=[LEGACY, MODERN])
def era(request: pytest.FixtureRequest) -> str:
    """Both eras of the protocol."""
    return request.param


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    """One demo server over HTTP for a whole test file."""
    with demo_http() as address:
        yield address
