"""Memories on disk."""

from __future__ import annotations

from pathlib import Path

from mcp_studio.catalog.remembered import Memories, Memory, memory_file, recall, remember
from mcp_studio.config.model import ServerConfig

CONFIG = ServerConfig("s", command="prog", args=("-x",))


def test_what_was_remembered_is_recalled(tmp_path: Path) -> None:
    memory = Memory("modern", {"tool": [{"name": "t"}]})
    remember(tmp_path / "m.json", memory)
    assert recall(tmp_path / "m.json") == memory


def test_damaged_or_newer_files_read_as_nothing(tmp_path: Path) -> None:
    for text in ("", "{", "[]", '{"version": 99}', '{"version": 1, "listings": {"tool": 5}}'):
        (tmp_path / "m.json").write_text(text)
        assert recall(tmp_path / "m.json").listings == {}
    assert recall(tmp_path / "absent.json") == Memory()


def test_a_server_at_another_address_has_another_memory(tmp_path: Path) -> None:
    other = ServerConfig("s", command="prog", args=("-y",))
    assert memory_file(tmp_path, CONFIG) != memory_file(tmp_path, other)
    assert memory_file(tmp_path, ServerConfig("../../etc/x", command="p")).parent == tmp_path


def test_only_news_is_written(tmp_path: Path) -> None:
    memories = Memories(tmp_path)
    file = memories.keep(CONFIG, Memory("legacy", {"tool": []}))
    assert file is not None
    memories.write(file)
    assert memories.keep(CONFIG, Memory("legacy", {"tool": []})) is None
    assert Memories(tmp_path).keep(CONFIG, Memory("legacy", {"tool": []})) is None
