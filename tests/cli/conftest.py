"""A command line without a process of its own, for tests that are about its words."""

from __future__ import annotations

import io
import sys

import pytest

from mcp_studio.cli import main
from mcp_studio.cli.options import standard_input
from tests.cli.kit import Cli, Done


@pytest.fixture
def here(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Cli:
    """Runs a command line to its end in this process, without a terminal."""

    def run(*words: str, given: str = "") -> Done:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(given.encode())))
        monkeypatch.setattr(sys, "argv", ["mcp-studio", *words])
        standard_input.cache_clear()
        capsys.readouterr()
        code = main.main()
        found = capsys.readouterr()
        return Done(code, found.out, found.err)

    return run
