"""Drafts survive restarts, secrets do not reach the disk."""

from __future__ import annotations

from pathlib import Path

from mcp_studio.call.drafts import Drafts
from mcp_studio.jsontext import dumps, loads
from tests.support import run


def kept(file: Path, *pairs: tuple[str, object]) -> Drafts:
    """Put drafts, close, read again."""

    async def go() -> None:
        drafts = Drafts(file)
        for key, value in pairs:
            drafts.put(key, value)
        await drafts.close()

    run(go())
    return Drafts(file)


def test_values_come_back_as_they_were_typed(tmp_path: Path) -> None:
    value = loads('{"a": 1.0, "b": 12345678901234567890, "c": null}', exact=True)
    drafts = kept(tmp_path / "d.json", ("tool:s:t", value))
    assert dumps(drafts.get("tool:s:t")) == b'{"a":1.0,"b":12345678901234567890,"c":null}'


def test_secrets_stay_in_memory(tmp_path: Path) -> None:
    file = tmp_path / "d.json"
    drafts = kept(file, ("k", {"password": "hunter2hunter2", "deep": [{"api_key": "abc"}], "x": 1}))
    assert drafts.get("k") == {"deep": [{}], "x": 1}
    assert b"hunter2" not in file.read_bytes()


def test_none_forgets_and_the_oldest_go_first(tmp_path: Path) -> None:
    drafts = kept(tmp_path / "d.json", *((f"k{n}", n) for n in range(510)), ("k509", None))
    assert drafts.get("k0") is None and drafts.get("k509") is None and drafts.get("k508") == 508


def test_a_damaged_file_reads_as_no_drafts(tmp_path: Path) -> None:
    file = tmp_path / "d.json"
    for text in ("{", "[]", '{"version":1,"drafts":[]}'):
        file.write_text(text)
        assert Drafts(file).get("k") is None
