"""The few colours of a theme that the first frame needs, read without Textual."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any, NamedTuple

from mcp_studio.paths import shipped_themes


class Palette(NamedTuple):
    """Escape sequences that switch to the colours of text, of borders, and of the lines on top and bottom."""

    plain: str
    border: str
    bar: str


def palette(theme: str, user: Path) -> Palette | None:
    """The colours of a theme; None when it has no usable ones, and the terminal's own are taken."""
    for folder in (user, shipped_themes()):
        file = folder / f"{theme}.toml"
        if "/" in theme or not file.is_file():
            continue
        try:
            table = tomllib.loads(file.read_text("utf-8"))
        except (OSError, ValueError):
            return None
        return _colours(table)
    return None


def _colours(table: dict[str, Any]) -> Palette | None:
    variables = table.get("variables")
    border = variables.get("pane-border") if isinstance(variables, dict) else None
    fore, back, panel = (_rgb(table.get(key)) for key in ("foreground", "background", "panel"))
    line = _rgb(border) or fore
    if not (fore and back and line):
        return None
    ground = f"\x1b[48;2;{back}m"
    return Palette(
        f"\x1b[38;2;{fore}m{ground}", f"\x1b[38;2;{line}m{ground}", f"\x1b[38;2;{fore};48;2;{panel or back}m"
    )


def _rgb(value: object) -> str | None:
    if not isinstance(value, str) or not re.fullmatch("#[0-9a-fA-F]{6}", value):
        return None
    return ";".join(str(int(value[at : at + 2], 16)) for at in (1, 3, 5))
