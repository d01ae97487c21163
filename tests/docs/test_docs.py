"""The documentation says what the program does."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path
from types import ModuleType

import pytest

from mcp_studio.servers.demo.tools import all_tools
from tests.support import ROOT

DOCS = ROOT / "docs"
PAGES = [*DOCS.glob("*.md"), ROOT / "README.md"]


@pytest.fixture(scope="module")
def generate() -> ModuleType:
    """docs/generate.py as a module."""
    spec = importlib.util.spec_from_file_location("docs_generate", DOCS / "generate.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_keys_are_those_of_the_action_table(generate: ModuleType) -> None:
    assert (DOCS / "keys.md").read_text("utf-8") == generate.keys(), "run docs/generate.py"


def test_the_limits_are_those_in_force(generate: ModuleType) -> None:
    assert (DOCS / "configuration.md").read_text("utf-8") == generate.configuration(), "run docs/generate.py"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_inside_the_project_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", page.read_text("utf-8")):
        if "://" not in target:
            assert (page.parent / target).exists(), f"{page.name} links to {target}"


def test_the_tour_names_only_tools_that_the_demo_server_has() -> None:
    text = (DOCS / "tour.md").read_text("utf-8")
    named = set(re.findall(r"`((?:list|form|show|fail|ask|take|wait|write|log|add|remove|reset|order)_\w+)`", text))
    assert len(named) > 15
    assert named <= {tool.name for tool in all_tools()}
