"""Where files are kept on each operating system."""

from __future__ import annotations

from pathlib import Path

import pytest

from mcp_studio.paths import Paths, shipped_themes


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
    assert paths.config_file.parent == paths.themes.parent == paths.config
    assert paths.trust_file.parent == paths.state


def test_shipped_themes_are_found_from_a_source_checkout() -> None:
    assert shipped_themes().is_dir()
