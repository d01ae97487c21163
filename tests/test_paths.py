"""Where files are kept on each operating system."""

from __future__ import annotations

from pathlib import Path

import pytest

from mcp_studio.config.save import portable
from mcp_studio.paths import Paths
from mcp_studio.tui.external import file_stem


def test_linux_folders_follow_xdg_and_its_defaults() -> None:
    paths = Paths.default({"HOME": "/home/ada", "XDG_STATE_HOME": "/var/ada", "XDG_CACHE_HOME": "relative"}, "linux")
    assert paths.config == Path("/home/ada/.config/mcp-studio")
    assert paths.state == Path("/var/ada/mcp-studio")
    assert paths.cache == Path("/home/ada/.cache/mcp-studio")


def test_macos_and_windows_use_their_own_folders() -> None:
    mac = Paths.default({"HOME": "/Users/ada"}, "darwin")
    assert mac.config == Path("/Users/ada/Library/Application Support/mcp-studio")
    assert mac.cache == Path("/Users/ada/Library/Caches/mcp-studio")
    windows = Paths.default({"APPDATA": "/roaming", "LOCALAPPDATA": "/local"}, "win32")
    assert windows == Paths(
        Path("/roaming/mcp-studio"), Path("/local/mcp-studio/state"), Path("/local/mcp-studio/cache")
    )


@pytest.mark.parametrize("platform", ["linux", "darwin", "win32"])
def test_one_variable_moves_everything(platform: str, home: Path) -> None:
    paths = Paths.default(platform=platform)
    assert {paths.config, paths.state, paths.cache} == {home / "config", home / "state", home / "cache"}
    assert paths.config_file.parent == paths.config
    assert paths.trust_file.parent == paths.state


@pytest.mark.parametrize(
    ("words", "stem"),
    [
        ("../../etc/passwd", "etc-passwd"),
        ("a b", "a-b"),
        ("…", "result"),
        ("", "result"),
        (".hidden", "hidden"),
        (".DS_Store", "DS_Store"),
        ("-rf", "rf"),
        ("x" * 99, "x" * 60),
        ("𠀀" * 99, "𠀀" * 45),
        ("a" * 59 + ".b", "a" * 59),
        ("half\ud800one", "half-one"),
        ("CON", "result-CON"),
        ("nul.txt", "result-nul.txt"),
        ("Com1.a.b", "result-Com1.a.b"),
        ("LPT²", "result-LPT²"),
        ("aux.", "result-aux"),
        ("CONIN$", "CONIN"),
        ("desktop.ini", "result-desktop.ini"),
        ("console", "console"),
        ("com10", "com10"),
        ("Icon\r", "Icon"),
        ('a<b>:c"d|e?f*g\\h', "a-b-c-d-e-f-g-h"),
    ],
)
def test_names_of_files_are_made_for_every_system(words: str, stem: str) -> None:
    assert file_stem(words, "result") == stem
    assert portable(stem) and all(portable(f"{stem}{more}") for more in (".result.json", "-9999.toml"))


@pytest.mark.parametrize(
    "name",
    [
        *("", ".a", "-a", " a", "a.", "a ", "a/b", "a\\b", "a:b", "a*", "a\tb", "a\u202eb", "x" * 241, "ü" * 121),
        *("con", "NUL.tar.gz", "aux .txt", "com9", "COM¹", "lpt³.x", "conin$", "CONOUT$.a", "CLOCK$", "Thumbs.db"),
    ],
)
def test_names_that_some_system_does_not_take_are_known(name: str) -> None:
    assert not portable(name)
