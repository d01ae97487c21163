"""The tab History and saved calls: what was called fills the form again, runs again, gets a name."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from mcp_studio.tui.panels.history import Row, when

from mcp_studio.call.call import Succeeded
from tests.tui.stage import Stage, on_stage, raw, run


@pytest.fixture(autouse=True)
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "project" / ".mcp-studio" / "calls").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "project")
    return tmp_path / "project" / ".mcp-studio" / "calls"


async def history(stage: Stage) -> Any:
    """Turn to the tab History; gives its list once it has been read."""
    stage.main.go_to(stage.main.call)
    while stage.main.call.tab != "history":
        await stage.press("ctrl+pagedown")
    view = stage.main.call.body.history
    await stage.until(lambda: view.has_focus, "the list has the focus")
    return view


def rows(view: Any, what: str) -> list[Row]:
    return [row for row in view.rows if row.what == what]


async def test_an_earlier_call_fills_the_form_again_and_what_it_held_can_be_had_back() -> None:
    async with on_stage(raw()) as stage:
        await stage.open("echo")
        await stage.press(*"one")
        assert isinstance(await stage.ran(), Succeeded)
        await stage.open("echo")
        await stage.press("ctrl+u", *"two")
        view = await history(stage)
        await stage.until(lambda: rows(view, "past"), "the call is listed")
        await stage.shows('{"text": "one"}', "✓", "enter Fill   r Run   d Delete")
        await stage.press("enter")
        await stage.until(lambda: stage.main.calling.opened.value == {"text": "one"}, "the form is filled")
        view = await history(stage)
        await stage.until(lambda: rows(view, "draft"), "what the form held is listed")
        await stage.press("home", "enter")
        await stage.until(lambda: stage.main.calling.opened.value == {"text": "two"}, "it is back")
    async with on_stage(raw()) as stage:
        await stage.open("echo")
        view = await history(stage)
        await stage.until(lambda: rows(view, "past"), "the call is remembered")
        before = stage.main.calling.call
        await stage.press("r")
        await stage.until(lambda: stage.main.calling.call not in (None, before), "it runs again")
        await stage.until(lambda: stage.main.calling.call.outcome, "an outcome")
        assert stage.main.calling.call.params["arguments"] == {"text": "one"}
        view = await history(stage)
        await stage.until(lambda: len(rows(view, "past")) == 2, "both are listed")
        await stage.press("end", "d")
        await stage.until(lambda: len(rows(view, "past")) == 1, "one is deleted")


async def test_a_call_is_saved_and_its_variables_are_asked_for(project: Path) -> None:
    async with on_stage(raw()) as stage:
        await stage.open("echo")
        await stage.press(*"hello", "ctrl+s")
        await stage.shows("Save this call")
        dialog = stage.app.screen
        dialog.form.set_value({**dialog.value, "name": "../hi", "ask for text": True})  # type: ignore[attr-defined]
        await stage.press("ctrl+j")
        await stage.shows("cannot be the name of a saved call")
        dialog.form.set_value({**dialog.value, "name": "hi"})  # type: ignore[attr-defined]
        await stage.press("ctrl+j")
        await stage.until(lambda: (project / "hi.toml").exists(), "the file")
        assert 'text = "${text}"' in (project / "hi.toml").read_text()
        await stage.press("ctrl+s")
        await stage.shows("Save this call")
        await stage.press("ctrl+j")
        await stage.until(lambda: stage.app.screen is stage.main, "it is written over what it was filled from")
        view = await history(stage)
        await stage.until(lambda: rows(view, "saved"), "it is listed")
        await stage.press("home", "r")
        await stage.shows("hi", "^j OK")
        await stage.press("ctrl+u", *"there", "ctrl+j")
        await stage.until(lambda: stage.main.calling.call and stage.main.calling.call.outcome, "an outcome")
        assert stage.main.calling.call.params["arguments"] == {"text": "there"}


async def test_saved_calls_are_chosen_renamed_and_deleted(project: Path) -> None:
    (project / "sum.toml").write_text('server="raw"\ntool="add"\narguments={a=1,b=2.50}')
    (project / "other.toml").write_text('server="gone"\ntool="add"')
    (project / "broken.toml").write_text("x")

    async with on_stage(raw()) as stage:
        await stage.press("alt+n")
        await stage.shows("Saved calls", "raw.add", "broken.toml", "is no valid TOML")
        await stage.press(*"sum", "enter")
        await stage.until(lambda: stage.main.calling.opened, "it is open")
        assert repr(stage.main.calling.opened.value) == "{'a': 1, 'b': 2.50}"
        await stage.press("alt+n")
        await stage.shows("Saved calls")
        await stage.press(*"other", "enter")
        await stage.until(lambda: any("is not configured" in text for text in stage.toasts), "told")
        await stage.press("alt+n")
        await stage.shows("Saved calls")
        await stage.press(*"sum", "ctrl+r")
        await stage.shows("Rename sum")
        await stage.press("ctrl+u", *"total", "ctrl+j")
        await stage.until(lambda: (project / "total.toml").exists(), "it is renamed")
        await stage.press("alt+n")
        await stage.shows("Saved calls")
        await stage.press(*"total", "ctrl+d")
        await stage.shows("Delete the saved call total?")
        await stage.press("y")
        await stage.until(lambda: not (project / "total.toml").exists(), "it is deleted")


def test_a_secret_is_sent_but_not_shown_and_not_kept(
    project: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GREETING", "hello-from-env")
    (project / "say.toml").write_text('server="raw"\ntool="echo"\narguments={text="${env:GREETING}"}')

    async def main() -> None:
        async with on_stage(raw()) as stage:
            await stage.press("alt+n")
            await stage.shows("Saved calls")
            await stage.press(*"say", "ctrl+j")
            await stage.shows("A saved call uses your secrets")
            await stage.press("y")
            await stage.until(lambda: stage.main.calling.call and stage.main.calling.call.outcome, "an outcome")
            assert stage.main.calling.call.params["arguments"] == {"text": "hello-from-env"}
            assert stage.main.calling.opened.value == {}
            view = await history(stage)
            await stage.until(lambda: rows(view, "past"), "it is remembered")
            await stage.shows("(a secret is left out)")

    run(main())
    assert not any(b"hello-from-env" in file.read_bytes() for file in home.rglob("*") if file.is_file())


def test_a_moment_is_told_shortly() -> None:
    assert when(1_000_000.0, 1_000_060.0).count(":") == 2
    assert when(1_000_000.0, 1_000_000.0 + 30 * 86_400) == "12 Jan"
    assert when(1_000_000.0, 1_000_000.0 + 900 * 86_400) == "1970-01-12"
