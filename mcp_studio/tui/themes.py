"""Themes: TOML files with the fields of Textual's Theme and a `[variables]` table of our own names.

A file that cannot be used costs a sentence, never the start.
"""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any, NamedTuple

from textual.color import Color, ColorParseError
from textual.theme import Theme

from mcp_studio.paths import shipped_themes

DEFAULT = "studio-dark"

COLOURLESS = "mono"
"""The theme whose greys are read where no colours are wanted."""
VARIABLES: dict[str, str] = {
    "risk-read": "text-success",
    "risk-write": "text-warning",
    "risk-destructive": "text-error",
    "wire-in": "text-accent",
    "wire-out": "text-primary",
    "state-ready": "text-success",
    "state-busy": "text-warning",
    "state-retrying": "text-warning",
    "state-failed": "text-error",
    "state-off": "foreground-muted",
    "quiet": "foreground-muted",
    "pane-border": "foreground-disabled",
    "pane-focus": "accent",
    "json-key": "text-primary",
    "json-string": "text-success",
    "json-number": "text-accent",
    "json-constant": "text-warning",
    "json-mark": "foreground-muted",
}
"""Our own names, with the name of Textual's whose value they have when a theme does not say."""


def complete(variables: dict[str, str]) -> dict[str, str]:
    """Add what the theme did not say of our own names to the CSS variables that Textual made of it."""
    return {name: variables[base] for name, base in VARIABLES.items()} | variables


_COLOURS = (
    "primary", "secondary", "warning", "error", "success", "accent", "foreground", "background", "surface", "panel",
    "boost",
)  # fmt: skip
_NUMBERS = ("luminosity_spread", "text_alpha")
_FLAGS = ("dark", "ansi")


class Failed(NamedTuple):
    """A theme file that cannot be used, and why in a sentence."""

    file: Path
    reason: str


class BadTheme(ValueError):
    """The content of a theme file cannot be used; the text says which key and why."""


def load_all(user: Path) -> tuple[tuple[Theme, ...], tuple[Failed, ...]]:
    """All themes, the person's own in place of a built-in of the same name; and the files that failed."""
    loaded: dict[str, Theme] = {}
    failed: list[Failed] = []
    for file in (*sorted(shipped_themes().glob("*.toml")), *sorted(user.glob("*.toml"))):
        theme = _read(file)
        if isinstance(theme, Theme):
            loaded[theme.name] = theme
        else:
            failed.append(theme)
    return tuple(loaded.values()), tuple(failed)


def newest(user: Path) -> tuple[int, ...]:
    """What is different once a file of the person's own themes was written, added or removed."""
    return tuple(file.stat().st_mtime_ns for file in sorted(user.glob("*.toml")))


def _read(file: Path) -> Theme | Failed:
    try:
        return parse(file.stem, tomllib.loads(file.read_text("utf-8")))
    except (OSError, UnicodeDecodeError) as problem:
        return Failed(file, f"It cannot be read: {problem}")
    except tomllib.TOMLDecodeError as problem:
        return Failed(file, f"It is not TOML: {problem}")
    except BadTheme as problem:
        return Failed(file, str(problem))


def parse(name: str, table: dict[str, Any]) -> Theme:
    """Make a theme of what a file says.

    Raises:
        BadTheme: a key is unknown, a value has the wrong type or is no colour, or `primary` is missing.
    """
    fields: dict[str, Any] = {}
    for key, value in table.items():
        if key in _COLOURS:
            fields[key] = _colour(key, value)
        elif key in _NUMBERS and isinstance(value, (int, float)) and not isinstance(value, bool):
            fields[key] = float(value)
        elif key in _FLAGS and isinstance(value, bool):
            fields[key] = value
        elif key not in ("name", "variables"):
            known = key in _NUMBERS + _FLAGS
            raise BadTheme(f"{key}: {'has a value of the wrong type' if known else _unknown(key)}.")
    if "primary" not in fields:
        raise BadTheme("primary: is missing; every theme needs at least this colour.")
    return Theme(name, variables=_variables(table.get("variables", {})), **fields)


def _unknown(key: str) -> str:
    from difflib import get_close_matches

    near = get_close_matches(key, (*_COLOURS, *_NUMBERS, *_FLAGS, "variables"), 1)
    return "is not a field of a theme" + (f"; did you mean {near[0]}?" if near else "")


def _colour(key: str, value: object) -> str:
    if not isinstance(value, str):
        raise BadTheme(f'{key}: a colour is a string such as "#88c0d0".')
    try:
        Color.parse(value)
    except ColorParseError:
        raise BadTheme(f"{key}: {value!r} is not a colour.") from None
    return value


def _variables(table: object) -> dict[str, str]:
    if not isinstance(table, dict):
        raise BadTheme("variables: is not a table.")
    found: dict[str, str] = {}
    for key, value in table.items():
        if not isinstance(value, str):
            raise BadTheme(f"variables.{key}: is not a string.")
        if key in VARIABLES:
            _colour(f"variables.{key}", value)
        found[key] = value
    return found
