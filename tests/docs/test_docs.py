"""The documentation says what the program does."""

from __future__ import annotations

import importlib.util
import json
import re
import shlex
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

from mcp_studio.cli.options import parse
from mcp_studio.config.load import load
from mcp_studio.paths import Paths
from mcp_studio.servers.demo.content import LISTS
from tests.support import ROOT
from tests.support_servers import demo_http

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


def test_the_reference_is_what_the_code_says(generate: ModuleType) -> None:
    assert (DOCS / "reference.md").read_text("utf-8") == generate.reference(), "run docs/generate.py"


def test_the_verbs_and_options_are_those_of_the_table(generate: ModuleType) -> None:
    assert (DOCS / "cli.md").read_text("utf-8") == generate.cli(), "run docs/generate.py"


def test_the_schema_of_workflows_is_what_they_are_checked_by(generate: ModuleType) -> None:
    assert (DOCS / "workflow.schema.json").read_text("utf-8") == generate.workflows(), "run docs/generate.py"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_inside_the_project_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", page.read_text("utf-8")):
        if "://" not in target:
            assert (page.parent / target).exists(), f"{page.name} links to {target}"


def test_the_guide_names_only_tools_that_the_demo_server_has() -> None:
    text = (DOCS / "guide.md").read_text("utf-8")
    named = set(re.findall(r"`((?:list|form|show|fail|ask|take|wait|write|log|add|remove|reset|order)_\w+)`", text))
    assert len(named) > 15
    assert named <= {tool["name"] for tool in LISTS["tools"]}


def blocks(language: str) -> list[tuple[str, str]]:
    """Code blocks of all pages, each with the page it stands on."""
    return [
        (page.name, found)
        for page in PAGES
        for found in re.findall(rf"^```{language}\n(.*?)^```", page.read_text("utf-8"), re.DOTALL | re.MULTILINE)
    ]


@pytest.mark.parametrize(("page", "text"), [one for one in blocks("toml") if "[[steps]]" not in one[1]])
def test_examples_of_configuration_are_accepted_as_they_stand(page: str, text: str, tmp_path: Path) -> None:
    paths = Paths.default()
    paths.config.mkdir(parents=True)
    paths.config_file.write_text(text, "utf-8")
    config = load(paths, tmp_path, environ={"HOME": "/", "GITHUB_TOKEN": "secret-of-a-test"})
    # The keyring of the machine does not have the passwords of the examples.
    assert [problem for problem in config.problems if "keyring" not in str(problem)] == []


COMMANDS = [
    (page, line.partition("mcp-studio ")[2])
    for page, text in blocks("sh")
    for line in text.splitlines()
    if line.startswith("mcp-studio ")
]


@pytest.mark.parametrize(("page", "line"), COMMANDS)
def test_command_lines_are_understood(page: str, line: str) -> None:
    words = shlex.split(line.partition(" >")[0], comments=True)
    assert parse(words) is not None


def test_there_are_command_lines_on_every_page_for_them() -> None:
    assert {page for page, _ in COMMANDS} >= {"README.md", "guide.md", "cli.md", "configuration.md"}


EXAMPLES = re.findall(r"^```python\n(.*?)^```", (ROOT / "docs" / "python.md").read_text("utf-8"), re.DOTALL | re.M)


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda text: re.findall(r"mcp_studio.* import (\w+)", text)[-1])
def test_an_example_prints_what_it_says(example: str, home: Path, tmp_path: Path) -> None:
    (home / "config").mkdir()
    shop = f'[servers.shop]\ncommand = "{sys.executable}"\nargs = ["-m", "mcp_studio.servers.demo"]\n'
    (home / "config" / "config.toml").write_text(shop + f"inherit_env = {json.dumps(['PYTHONPATH'])}\n")
    said = re.findall(r"print\(.*\)  # (.*)$", example, re.MULTILINE)
    assert said
    if "8321" in example:
        with demo_http() as url:
            done = ran(example.replace("http://127.0.0.1:8321/mcp", url), tmp_path)
    else:
        done = ran(example, tmp_path)
    assert (done.stdout.splitlines(), done.stderr) == (said, "")


def ran(code: str, folder: Path) -> subprocess.CompletedProcess[str]:
    file = folder / "example.py"
    file.write_text(code, "utf-8")
    return subprocess.run([sys.executable, file], capture_output=True, text=True, timeout=120, cwd=folder)
