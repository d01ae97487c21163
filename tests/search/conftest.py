"""Indexes and packages with methods, for the length of a test."""

from __future__ import annotations

import sys
import threading
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

from mcp_studio.catalog.catalog import Catalog
from tests.search.index_kit import Index, Make, Plug, earlier, package, searching


@pytest.fixture(autouse=True)
def others() -> None:
    """Leaves the threads of other tests out of the account."""
    earlier.update(threading.enumerate())


@pytest.fixture
def plug(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Generator[Plug]:
    """Installs a package with methods for this test: `plug(name, code, "initials = name:Initials", ...)`."""
    monkeypatch.syspath_prepend(str(tmp_path))
    installed: list[str] = []

    def install(name: str, code: str, *methods: str) -> None:
        assert name not in sys.modules
        installed.append(name)
        package(tmp_path, name, code, methods)

    yield install
    for name in installed:
        sys.modules.pop(name, None)


@pytest.fixture
def indexes() -> Generator[Make]:
    """Makes indexes, which are closed after the test; no thread of theirs is left then."""
    made, before = list[Index](), searching()

    def make(catalog: Catalog | None = None, **more: Any) -> Index:
        given: dict[str, Any] = {"semantic": False, **more}
        made.append(Index(catalog, **given))
        return made[-1]

    yield make
    for index in made:
        index.close()
    assert [name for name in searching() if name not in before] == []
