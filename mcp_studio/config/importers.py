"""Where other MCP clients keep their servers."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

from mcp_studio.paths import home
from mcp_studio.record import record


@record(frozen=True)
class ForeignFile:
    """A configuration file of another client; `config.load.load(files=[file])` reads it."""

    client: str
    """Its name, for people."""
    file: Path
    project: bool
    """Whether it belongs to a project folder rather than to the person."""


def foreign_files(
    cwd: Path, environ: Mapping[str, str] = os.environ, platform: str = sys.platform
) -> tuple[ForeignFile, ...]:
    """The files that exist, the project's first."""
    return tuple(found for found in _places(cwd, environ, platform) if found.file.is_file())


def _places(cwd: Path, environ: Mapping[str, str], platform: str) -> Iterator[ForeignFile]:
    person, apps = home(environ), _applications(environ, platform)
    for client, parts in (
        ("Claude Code", ".mcp.json"),
        ("Cursor", ".cursor/mcp.json"),
        ("VS Code", ".vscode/mcp.json"),
    ):
        yield ForeignFile(client, cwd / parts, True)
    for client, file in (
        ("Claude Desktop", apps / "Claude" / "claude_desktop_config.json"),
        ("Claude Code", person / ".claude.json"),
        ("Cursor", person / ".cursor" / "mcp.json"),
        ("VS Code", apps / "Code" / "User" / "mcp.json"),
        ("Windsurf", person / ".codeium" / "windsurf" / "mcp_config.json"),
    ):
        yield ForeignFile(client, file, False)


def _applications(environ: Mapping[str, str], platform: str) -> Path:
    if platform == "win32":
        return Path(environ.get("APPDATA") or home(environ) / "AppData" / "Roaming")
    if platform == "darwin":
        return home(environ) / "Library" / "Application Support"
    return Path(environ.get("XDG_CONFIG_HOME") or home(environ) / ".config")
