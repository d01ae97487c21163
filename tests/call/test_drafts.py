"""Drafts survive restarts, secrets do not reach the disk."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from mcp_studio.call.drafts import Drafts
from mcp_studio.call.secrets import SecretFilter
from mcp_studio.jsontext import dumps, loads
from mcp_studio.redact import Redactor
from tests.support import run, wait_until


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


def test_two_studios_do_not_lose_each_others_drafts(tmp_path: Path) -> None:
    file = tmp_path / "d.json"
    kept(file, ("old", 1))

    async def go() -> None:
        one, other = Drafts(file), Drafts(file)
        one.put("a", {"x": 1.5})
        await one.close()
        other.put("b", 2)
        other.put("old", None)
        await other.close()

    run(go())
    drafts = Drafts(file)
    assert [drafts.get(key) for key in ("a", "b", "old")] == [{"x": 1.5}, 2, None]


def test_a_damaged_file_reads_as_no_drafts(tmp_path: Path) -> None:
    file = tmp_path / "d.json"
    for text in ("{", "[]", '{"version":1,"drafts":[]}'):
        file.write_text(text)
        assert Drafts(file).get("k") is None


def test_values_that_are_known_secrets_stay_in_memory_too(tmp_path: Path) -> None:
    async def go() -> None:
        redactor = Redactor()
        redactor.learn("very-secret-value-1")
        drafts = Drafts(tmp_path / "d.json", SecretFilter(redactor.text))
        drafts.put("k", {"note": "it is very-secret-value-1", "list": ["very-secret-value-1", "x"], "y": 1})
        drafts.put("bare", "very-secret-value-1")
        await drafts.close()
        assert drafts.get("bare") == "very-secret-value-1"

    run(go())
    assert b"very-secret" not in (tmp_path / "d.json").read_bytes()
    assert Drafts(tmp_path / "d.json").get("k") == {"list": ["x"], "y": 1}


def test_a_value_that_is_no_json_costs_itself_alone(tmp_path: Path) -> None:
    drafts = kept(tmp_path / "d.json", ("nan", float("nan")), ("odd", {"x": object()}), ("good", {"a": 1}))
    assert drafts.get("nan") is None and drafts.get("odd") is None and drafts.get("good") == {"a": 1}


def test_the_newest_state_is_what_stays_on_the_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    written: list[bytes] = []
    entered, leave = threading.Event(), threading.Event()

    def slowly(file: Path, edit: Callable[[bytes], bytes]) -> None:
        if not written and not entered.is_set():
            entered.set()
            leave.wait(5)
        written.append(edit(b""))

    monkeypatch.setattr("mcp_studio.call.drafts.change_file", slowly)

    async def go() -> None:
        drafts = Drafts(tmp_path / "d.json")
        drafts.put("k", "older")
        await wait_until(entered.is_set)
        drafts.put("k", "newer")
        closing = asyncio.create_task(drafts.close())
        await asyncio.sleep(0)
        leave.set()
        await closing

    run(go())
    assert b"newer" in written[-1] and len(written) == 2


def test_fields_that_are_secret_by_their_schema_or_the_settings_stay_in_memory(tmp_path: Path) -> None:
    async def go() -> None:
        redactor = Redactor(["pin"])
        drafts = Drafts(tmp_path / "d.json", SecretFilter(redactor.text, redactor.is_secret))
        drafts.put("k", {"pin": "1234", "code": "hush-hush", "x": 1}, hidden=frozenset({"code"}))
        assert drafts.get("k") == {"pin": "1234", "code": "hush-hush", "x": 1}
        await drafts.close()

    run(go())
    assert Drafts(tmp_path / "d.json").get("k") == {"x": 1}
    assert b"hush" not in (tmp_path / "d.json").read_bytes()
