"""A server of each kind for a whole run, and the shop that each test is about."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.database.kit import Shop, mysql
from tests.registry.kit import postgres


@pytest.fixture(scope="session")
def postgresql_server() -> Iterator[str]:
    """The address of a PostgreSQL."""
    with postgres() as address:
        yield address


@pytest.fixture(scope="session")
def mysql_server() -> Iterator[str]:
    """The address of a MariaDB."""
    with mysql() as address:
        yield address


@pytest.fixture(params=["sqlite", "duckdb", "postgresql", "mysql"])
def shop(request: pytest.FixtureRequest, tmp_path: Path) -> Shop:
    """A shop of two books in a database of each kind."""
    if request.param in ("sqlite", "duckdb"):
        pytest.importorskip(request.param.replace("sqlite", "sqlite3"))
        return Shop(str(tmp_path / f"shop.{request.param}"))
    return Shop(request.getfixturevalue(f"{request.param}_server"))
