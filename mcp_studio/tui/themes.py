"""Themes: TOML files with the fields of Textual's Theme and a `[variables]` table of our own names.

A file that cannot be used leads to a message, and never stops the start.
"""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

from textual.color import Color, ColorParseError
from textual.theme import BUILTIN_THEMES, Theme

import mcp_studio
from mcp_studio.errors import nearest

DEFAULT = "studio-dark"

COLOURLESS = "mono"
"""The theme whose greys are used if the person wants no colours."""
VARIABLES: dict[str, str] = {
    **dict.fromkeys(("risk-read", "state-ready", "json-string"), "text-success"),
    **dict.fromkeys(("risk-write", "state-busy", "state-retrying", "json-constant"), "text-warning"),
    **dict.fromkeys(("risk-destructive", "state-failed"), "text-error"),
    **dict.fromkeys(("wire-in", "json-number"), "text-accent"),
    **dict.fromkeys(("wire-out", "json-key"), "text-primary"),
    **dict.fromkeys(("quiet", "state-off", "json-mark"), "foreground-muted"),
    "pane-border": "foreground-disabled",
    "pane-focus": "accent",
}
"""Our own names, each with the name in Textual whose value it has if the theme does not set it."""


def complete(variables: dict[str, str]) -> dict[str, str]:
    """Add our own names that the theme does not set to the CSS variables that Textual made of the theme."""
    return {name: variables[base] for name, base in VARIABLES.items()} | variables


_COLOURS = (
    "primary", "secondary", "warning", "error", "success", "accent", "foreground", "background", "surface", "panel",
    "boost",
)  # fmt: skip
_FIELDS: dict[str, type | tuple[type, ...]] = {
    **dict.fromkeys(_COLOURS, str), "luminosity_spread": (int, float), "text_alpha": (int, float), "dark": bool,
    "ansi": bool, "variables": dict,
}  # fmt: skip
"""The keys that a file may have, with the types of their values."""


class BadTheme(ValueError):
    """The content of a theme file cannot be used; the text says which key and why."""


def shipped_themes() -> Path:
    """The folder of the themes of the package: inside an installed package, beside the package in a source checkout."""
    package = Path(mcp_studio.__file__).resolve().parent
    installed = package / "themes"
    return installed if installed.is_dir() else package.parent / "themes"


def missing(name: str, user: Path) -> str:
    """A sentence where no theme has this name; empty where one has."""
    known = {*BUILTIN_THEMES, *(file.stem for folder in (shipped_themes(), user) for file in folder.glob("*.toml"))}
    return "" if name in known else f"There is no theme `{name}`. {nearest(name, known)}".rstrip()


def load_all(user: Path) -> tuple[tuple[Theme, ...], tuple[tuple[Path, str], ...]]:
    """Load all themes; the person's own replace built-in ones of the same name. Failed files come with a sentence."""
    loaded: dict[str, Theme] = {}
    failed: list[tuple[Path, str]] = []
    for file in (*sorted(shipped_themes().glob("*.toml")), *sorted(user.glob("*.toml"))):
        try:
            loaded[file.stem] = parse(file.stem, tomllib.loads(file.read_text("utf-8")))
        except (OSError, ValueError) as problem:  # the file is no text, no TOML, or no theme
            failed.append((file, str(problem) if isinstance(problem, BadTheme) else f"It cannot be used: {problem}"))
    return tuple(loaded.values()), tuple(failed)


def parse(name: str, table: dict[str, Any]) -> Theme:
    """Make a theme from the table of a file.

    Raises:
        BadTheme: a key is unknown, a value has the wrong type or is no colour, or `primary` is missing.
    """
    fields = {key: value for key, value in table.items() if key != "name"}
    for key, value in fields.items():
        if key not in _FIELDS:
            raise BadTheme(f"{key}: is not a field of a theme. {nearest(key, _FIELDS)}".rstrip())
        if not isinstance(value, _FIELDS[key]):
            raise BadTheme(f"{key}: has a value of the wrong type.")
        if key in _COLOURS:
            _check_colour(key, value)
    for key, value in fields.get("variables", {}).items():
        if not isinstance(value, str):
            raise BadTheme(f"variables.{key}: is not a string.")
        if key in VARIABLES:
            _check_colour(f"variables.{key}", value)
    if "primary" not in fields:
        raise BadTheme("primary: is missing; every theme needs at least this colour.")
    return Theme(name, **fields)


def _check_colour(key: str, value: str) -> None:
    try:
        Color.parse(value)
    except ColorParseError:
        raise BadTheme(f"{key}: {value!r} is not a colour.") from None
