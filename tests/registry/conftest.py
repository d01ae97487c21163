"""A PostgreSQL for a whole file of tests, and the storages that each test is about."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.registry.kit import postgres


@pytest.fixture(scope="package")
def database() -> Iterator[str]:
    """The address of a PostgreSQL that is started when a test first needs it."""
    with postgres() as address:
        yield address


@pytest.fixture(params=["json", "sqlite", "postgresql"])
def address(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The address of an empty storage of each kind."""
    if request.param != "postgresql":
        return str(tmp_path / "deep" / f"registry.{request.param}")
    psycopg = pytest.importorskip("psycopg", reason="the extra `postgres` is not installed")
    server: str = request.getfixturevalue("database")
    with psycopg.connect(server) as connection:
        connection.execute("DROP TABLE IF EXISTS registry_tools, registry_state")
    return server
