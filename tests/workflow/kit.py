"""Workflows for tests, run over the server of `tests.servers.plan_tools`."""

from __future__ import annotations

import sys
import tomllib
from pathlib import Path
from typing import Any

from mcp_studio.config.model import ServerConfig
from mcp_studio.studio import Studio
from mcp_studio.workflow import Run, Workflow
from tests.studio_support import stdio
from tests.support import ROOT


def server(log: Path | None = None, *, trust: bool = True, **more: Any) -> ServerConfig:
    """The server of small tools, trusted, so that programs may call what only reads."""
    argv = [sys.executable, "-m", "tests.servers.plan_tools", *([str(log)] if log else [])]
    return stdio(argv, trust=trust, env={"PYTHONPATH": str(ROOT)}, **more)


def plan(text: str, *, inputs: str = "") -> Workflow:
    """A workflow of these steps, in TOML."""
    whole = f'name = "trial"\n{inputs}\n{text}'
    return Workflow.of(tomllib.loads(whole), "trial.toml", whole)


async def ran(studio: Studio, text: str, inputs: dict[str, Any] | None = None, **options: Any) -> Run:
    """A run of such a workflow, at its end."""
    schema = "[inputs]\nadditionalProperties = true\n" if inputs else ""
    run = Run(plan(text, inputs=schema), studio, inputs, **options)
    await run.execute()
    return run


def states(run: Run) -> dict[str, str]:
    """Where every visible step is, by its path."""
    return {node.path: node.state for node in run.root.walk() if node.path}
