"""Theme files: what comes with the studio, what a person adds, what is wrong with a file, and choosing one."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from textual.color import Color
from textual.theme import Theme
from textual.widgets import Input

from mcp_studio.tui import themes
from mcp_studio.tui.screens.theme_picker import ThemePicker
from mcp_studio.tui.themes import shipped_themes
from tests.tui.stage import on_stage, raw

SHIPPED = {file.stem for file in shipped_themes().glob("*.toml")}
SIX_LINES = """dark = true
primary = "#7aa2f7"
accent = "#ff9e64"
foreground = "#c0caf5"
background = "#1a1b26"
panel = "#292e42"
"""
TEXTS = ("foreground", "primary", *(key for key in themes.VARIABLES if key != "pane-border"))


def load(name: str, folder: Path) -> Theme:
    """One theme by its name."""
    return next(theme for theme in themes.load_all(folder)[0] if theme.name == name)


def variables(theme: Theme) -> dict[str, str]:
    """All CSS variables of a theme."""
    return themes.complete({**theme.to_color_system().generate(), **theme.variables})


def contrast(one: Color, other: Color) -> float:
    """The ratio that WCAG defines."""

    def luminance(colour: Color) -> float:
        parts = [c / 255 for c in (colour.r, colour.g, colour.b)]
        r, g, b = (c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in parts)
        return 0.2126 * r + 0.7152 * g + 0.0722 * b

    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def faint(theme: Theme) -> list[str]:
    """Texts that stand out too little from what they stand on."""
    have = variables(theme)
    paper = Color.parse(have["background"])
    pairs = [(text, "background") for text in TEXTS]
    pairs += [(text, ground) for ground in ("surface", "panel") for text in ("foreground", "quiet", "primary")]
    pairs += [("block-cursor-foreground", "block-cursor-background")]
    pairs += [(text, "block-cursor-blurred-background") for text in ("block-cursor-blurred-foreground", "quiet")]
    found: list[str] = []
    for text, ground in pairs:
        if have[text].startswith("auto"):  # Textual chooses black or white
            continue
        behind = paper + Color.parse(have[ground])
        if (ratio := contrast(behind + Color.parse(have[text]), behind)) < 4.5:
            found.append(f"{text} {have[text]} on {ground} {have[ground]}: {ratio:.2f}")
    return found


def test_there_are_ten_themes_at_least_and_all_load(tmp_path: Path) -> None:
    loaded, failed = themes.load_all(tmp_path)
    assert {theme.name for theme in loaded} == SHIPPED and len(SHIPPED) >= 10
    assert failed == ()
    assert {theme.dark for theme in loaded} == {True, False}
    assert all(name in (shipped_themes() / "README.md").read_text("utf-8") for name in SHIPPED)


@pytest.mark.parametrize("name", sorted(SHIPPED))
def test_all_text_of_a_shipped_theme_can_be_read(name: str, tmp_path: Path) -> None:
    assert faint(load(name, tmp_path)) == []


def test_six_lines_are_a_complete_theme_and_one_is_too(tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text(SIX_LINES)
    (tmp_path / "one.toml").write_text('primary = "teal"\n')
    assert set(themes.VARIABLES) <= set(variables(load("mine", tmp_path)))
    assert set(themes.VARIABLES) <= set(variables(load("one", tmp_path)))
    assert [text for text in faint(load("mine", tmp_path)) if text.startswith(("foreground", "primary", "risk"))] == []


def test_a_persons_file_replaces_a_shipped_theme_of_that_name(tmp_path: Path) -> None:
    (tmp_path / "nord.toml").write_text('primary = "#123456"\n')
    assert load("nord", tmp_path).primary == "#123456"


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (b"primary = ", "It cannot be used"),
        (b"\xff\xfe\x00", "It cannot be used"),
        (b"dark = true\n", "primary: is missing"),
        (b'primary = "teal"\nacent = "red"\n', "acent: is not a field of a theme. Did you mean `accent`?"),
        (b'primary = "notacolour"\n', "primary: 'notacolour' is not a colour."),
        (b"primary = 3\n", "primary: has a value of the wrong type."),
        (b'primary = "teal"\ndark = "yes"\n', "dark: has a value of the wrong type."),
        (b'primary = "teal"\nvariables = 3\n', "variables: has a value of the wrong type."),
        (b'primary = "teal"\n[variables]\nrisk-read = 3\n', "variables.risk-read: is not a string."),
        (b'primary = "teal"\n[variables]\nrisk-read = "nope"\n', "variables.risk-read: 'nope' is not a colour."),
    ],
)
def test_a_bad_file_costs_a_sentence_and_the_others_still_load(tmp_path: Path, text: bytes, sentence: str) -> None:
    (tmp_path / "bad.toml").write_bytes(text)
    loaded, failed = themes.load_all(tmp_path)
    assert {theme.name for theme in loaded} == SHIPPED
    assert [(file.name, reason.startswith(sentence)) for file, reason in failed] == [("bad.toml", True)], failed


async def test_a_theme_is_previewed_used_and_read_again_when_its_file_changes(home: Path) -> None:
    folder = home / "config" / "themes"
    folder.mkdir(parents=True)
    (folder / "mine.toml").write_text(SIX_LINES)
    async with on_stage(raw()) as stage:
        before = stage.app.theme

        async def pick() -> ThemePicker:
            await stage.press("ctrl+p", *"change the theme")
            await stage.shows("Change the theme")
            await stage.press("enter")
            return await stage.dialog(ThemePicker)

        picker = await pick()
        began = time.process_time()
        await stage.press(*["down"] * 5)
        assert (time.process_time() - began) / 5 < 0.4, "from the key to the whole screen in another theme"
        picker.query_one(Input).value = "dracula"
        await stage.until(lambda: stage.main.styles.background == Color.parse("#282a36"), "its background")
        assert picker.styles.background.a == 0, "no veil"
        await stage.press("escape")
        await stage.until(lambda: stage.app.screen is stage.main, "the main screen")
        assert stage.app.theme == before and not (home / "config" / "config.toml").exists()
        picker = await pick()
        picker.query_one(Input).value = "mine"
        await stage.until(lambda: stage.app.theme == "mine", "its preview")
        await stage.press("enter")
        await stage.until(lambda: stage.app.screen is stage.main, "the main screen")
        assert stage.app.theme == "mine"
        await stage.until(lambda: "mine" in (home / "config" / "config.toml").read_text(), "the choice in the file")
        (folder / "mine.toml").write_text(SIX_LINES.replace("#1a1b26", "#101010"))
        await stage.until(lambda: stage.main.styles.background == Color.parse("#101010"), "the new colour")
        (folder / "mine.toml").write_text("primary = ")
        await stage.told("mine.toml: It cannot be used")
        assert stage.app.theme == "mine"
