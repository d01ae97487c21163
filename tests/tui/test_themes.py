"""Theme files: what comes with the studio, what a person adds, and what is wrong with a file."""

from __future__ import annotations

from pathlib import Path

import pytest
from textual.color import Color

from mcp_studio.tui import themes

SHIPPED = {
    "studio-dark", "studio-light", "high-contrast", "mono", "nord", "gruvbox", "catppuccin", "solarized-light",
}  # fmt: skip


def variables(theme: themes.Theme) -> dict[str, str]:
    return themes.complete({**theme.to_color_system().generate(), **theme.variables})


def contrast(one: Color, other: Color) -> float:
    def luminance(colour: Color) -> float:
        parts = [c / 255 for c in (colour.r, colour.g, colour.b)]
        r, g, b = (c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in parts)
        return 0.2126 * r + 0.7152 * g + 0.0722 * b

    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def test_all_shipped_themes_load(tmp_path: Path) -> None:
    loaded, failed = themes.load_all(tmp_path)
    assert {theme.name for theme in loaded} == SHIPPED
    assert failed == ()


@pytest.mark.parametrize("name", sorted(SHIPPED))
def test_text_of_every_shipped_theme_can_be_read(name: str, tmp_path: Path) -> None:
    theme, _ = themes.load_one(name, tmp_path)
    have = variables(theme)
    paper = Color.parse(have["background"])
    for variable in ("foreground", "primary", *(key for key in themes.VARIABLES if key != "pane-border")):
        colour = Color.parse(have[variable])
        assert contrast(paper + colour, paper) >= 4.0, f"{variable} {have[variable]}"
    for ground in ("surface", "block-cursor-blurred-background"):
        behind = paper + Color.parse(have[ground])
        assert contrast(behind + Color.parse(have["quiet"]), behind) >= 3.9, f"quiet on {ground}"
    cursor = contrast(Color.parse(have["block-cursor-foreground"]), Color.parse(have["block-cursor-background"]))
    assert cursor >= 4.5


def test_a_theme_of_one_colour_is_complete(tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text('primary = "teal"\n')
    theme, failed = themes.load_one("mine", tmp_path)
    assert failed == ()
    assert set(themes.VARIABLES) <= set(variables(theme))


def test_a_persons_file_replaces_a_shipped_theme_of_that_name(tmp_path: Path) -> None:
    (tmp_path / "nord.toml").write_text('primary = "#123456"\n')
    assert themes.load_one("nord", tmp_path)[0].primary == "#123456"
    assert {t.primary for t in themes.load_all(tmp_path)[0] if t.name == "nord"} == {"#123456"}


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("primary = ", "It is not TOML"),
        ("dark = true\n", "primary: is missing"),
        ('primary = "teal"\nacent = "red"\n', "acent: is not a field of a theme; did you mean accent?"),
        ('primary = "notacolour"\n', "primary: 'notacolour' is not a colour."),
        ("primary = 3\n", "primary: a colour is a string"),
        ('primary = "teal"\ndark = "yes"\n', "dark: has a value of the wrong type."),
        ('primary = "teal"\nvariables = 3\n', "variables: is not a table."),
        ('primary = "teal"\n[variables]\nrisk-read = 3\n', "variables.risk-read: is not a string."),
        ('primary = "teal"\n[variables]\nrisk-read = "nope"\n', "variables.risk-read: 'nope' is not a colour."),
    ],
)
def test_a_bad_file_costs_a_sentence_and_the_others_still_load(tmp_path: Path, text: str, sentence: str) -> None:
    (tmp_path / "bad.toml").write_text(text)
    loaded, failed = themes.load_all(tmp_path)
    assert {theme.name for theme in loaded} == SHIPPED
    assert [(item.file.name, item.reason.startswith(sentence)) for item in failed] == [("bad.toml", True)], failed
    theme, failed = themes.load_one("bad", tmp_path)
    assert theme.name == themes.DEFAULT
    assert failed[0].reason.startswith(sentence)


def test_bytes_that_are_not_text_are_reported(tmp_path: Path) -> None:
    (tmp_path / "bad.toml").write_bytes(b"\xff\xfe\x00")
    assert themes.load_all(tmp_path)[1][0].reason.startswith("It cannot be read")


@pytest.mark.parametrize("name", ["nothing", "../../etc/passwd"])
def test_an_unknown_theme_becomes_the_default_and_is_reported(tmp_path: Path, name: str) -> None:
    theme, failed = themes.load_one(name, tmp_path)
    assert theme.name == themes.DEFAULT
    assert name in failed[0].reason
