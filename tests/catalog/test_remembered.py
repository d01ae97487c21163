"""Memories on disk."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from mcp_studio.catalog.remembered import Memories, Memory, memory_file, recall, remember
from mcp_studio.config.model import ServerConfig
from mcp_studio.redact import Redactor

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


def test_the_same_command_elsewhere_has_another_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    one, other = tmp_path / "one", tmp_path / "other"
    one.mkdir()
    other.mkdir()
    monkeypatch.chdir(one)
    here = memory_file(tmp_path, CONFIG)
    monkeypatch.chdir(other)
    assert memory_file(tmp_path, CONFIG) != here
    assert memory_file(tmp_path, replace(CONFIG, cwd=str(one))) == here
    assert memory_file(tmp_path, replace(CONFIG, cwd=str(one), env={"DB": "a"})) != here


def test_a_secret_does_not_decide_where_a_memory_is_kept_nor_stand_in_it(tmp_path: Path) -> None:
    def config(secret: str) -> ServerConfig:
        return replace(CONFIG, env={"KEY": secret}, secrets=(secret,))

    assert memory_file(tmp_path, config("aaaaaaaa")) == memory_file(tmp_path, config("bbbbbbbb"))
    redactor = Redactor()
    redactor.learn("very-secret-value-1")
    memories = Memories(tmp_path, redactor.bytes)
    file = memories.keep(CONFIG, Memory("legacy", {"tool": [{"name": "t", "description": "very-secret-value-1"}]}))
    assert file is not None
    memories.write(file)
    assert b"very-secret" not in file.read_bytes() and recall(file).listings["tool"][0]["name"] == "t"
