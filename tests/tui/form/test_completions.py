"""What a server offers while a field is typed into: asked seldom, shown as a list, taken by a key."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from typing import Any

import pytest
from textual.pilot import Pilot

from mcp_studio.schema.form import build
from mcp_studio.tui.form.choices import DropDown, Offer
from tests.support import wait_until
from tests.tui.form.demo import FormApp, rest

CITY = {"type": "string", "description": "Where to go."}


class Server:
    """Answers with what it is given, at once or when it is told to, and knows what became of each question."""

    def __init__(self, values: Sequence[str] = ("berlin", "bern", "bergen"), count: str = "") -> None:
        self.offer = Offer(values, count)
        self.asked: list[tuple[str, str]] = []
        self.cancelled: list[str] = []
        self.go = asyncio.Event()
        self.go.set()

    async def complete(self, name: str, text: str) -> Offer:
        self.asked.append((name, text))
        try:
            await self.go.wait()
        except asyncio.CancelledError:
            self.cancelled.append(text)
            raise
        return self.offer if name == "city" else Offer(())


@asynccontextmanager
async def typing(server: Server, size: tuple[int, int] = (60, 24)) -> AsyncGenerator[tuple[FormApp, Pilot[None]]]:
    """A form of two text fields, the first of them current."""
    properties: dict[str, Any] = {"city": CITY, "other": {"type": "string"}}
    app = FormApp(build({"properties": properties}), None, complete=server.complete)
    async with app.run_test(size=size) as pilot:
        await pilot.press("tab")
        await pilot.pause()
        yield app, pilot


def listed(app: FormApp) -> list[str]:
    """The lines of the list below the field, without its note."""
    lines = app.lines()[1:]
    end = next((at for at, line in enumerate(lines) if "take one" in line), 0)
    return lines[:end]


async def test_the_list_opens_below_the_field_and_the_keys_take_one() -> None:
    server = Server(count="3 of 120")
    async with typing(server) as (app, pilot):
        await pilot.press("b")
        await wait_until(lambda: listed(app) == ["berlin", "bern", "bergen"])
        assert app.lines()[4] == "3 of 120 · ↓ and enter take one"
        await pilot.press("down", "down", "up", "down", "enter")
        await pilot.pause()
        assert app.form.value == {"city": "bern"}
        assert listed(app) == [] and server.asked == [("city", "b")]
        await pilot.press("down", "x")
        assert app.form.value == {"city": "bern", "other": "x"}


async def test_tab_takes_what_is_under_the_cursor_and_goes_on() -> None:
    async with typing(Server()) as (app, pilot):
        await pilot.press("b")
        await wait_until(lambda: listed(app))
        await pilot.press("down", "tab", "y")
        assert app.form.value == {"city": "berlin", "other": "y"}


async def test_without_the_cursor_in_the_list_the_keys_mean_what_they_always_mean() -> None:
    async with typing(Server()) as (app, pilot):
        await pilot.press("b")
        await wait_until(lambda: listed(app))
        await pilot.press("enter", "z")
        assert app.form.value == {"city": "b", "other": "z"}
        await wait_until(lambda: listed(app) == [])


async def test_escape_puts_the_list_away_until_more_is_typed() -> None:
    async with typing(Server()) as (app, pilot):
        await pilot.press("b")
        await wait_until(lambda: listed(app))
        await pilot.press("escape")
        await pilot.pause()
        assert listed(app) == [] and app.form.has_focus_within
        await pilot.press("e")
        await wait_until(lambda: listed(app))


async def test_fast_typing_asks_once(monkeypatch: pytest.MonkeyPatch) -> None:
    server = Server()
    async with typing(server) as (app, pilot):
        with monkeypatch.context() as fast:
            rest(fast, 60.0)  # as fast as that on any machine
            await pilot.press("b", "e")
        await pilot.press("r")
        await wait_until(lambda: listed(app))
        assert server.asked == [("city", "ber")]


async def test_typing_on_cancels_the_question_and_a_late_answer_counts_for_nothing() -> None:
    server = Server()
    server.go.clear()
    async with typing(server) as (app, pilot):
        await pilot.press("b")
        await wait_until(lambda: server.asked == [("city", "b")])
        await pilot.press("x")
        await wait_until(lambda: server.cancelled == ["b"])
        await wait_until(lambda: server.asked == [("city", "b"), ("city", "bx")])
        assert listed(app) == []
        server.offer = Offer(("bxl",))
        server.go.set()
        await wait_until(lambda: listed(app) == ["bxl"])


async def test_the_text_of_the_next_field_is_not_asked_about_as_that_of_the_one_before() -> None:
    server = Server()
    properties: dict[str, Any] = {"city": CITY, "other": {"type": "string"}}
    app = FormApp(build({"properties": properties}), {"city": "b", "other": "xyz"}, complete=server.complete)
    async with app.run_test(size=(60, 24)) as pilot:
        await pilot.press("tab", "down")
        await app.workers.wait_for_complete()
        assert server.asked == []
        await pilot.press("w")
        await wait_until(lambda: server.asked == [("other", "xyzw")])


async def test_going_to_another_field_ends_the_question() -> None:
    server = Server()
    server.go.clear()
    async with typing(server) as (app, pilot):
        await pilot.press("b")
        await wait_until(lambda: server.asked)
        await pilot.press("tab")
        await wait_until(lambda: server.cancelled == ["b"])
        assert listed(app) == []


async def test_the_server_can_be_asked_before_anything_is_typed() -> None:
    server = Server()
    async with typing(server) as (app, _):
        app.form.complete()
        await wait_until(lambda: len(listed(app)) == 3)
        assert server.asked == [("city", "")]


async def test_a_hundred_values_are_walked_through_a_small_window() -> None:
    server = Server([f"b{number:03}" for number in range(100)])
    async with typing(server, size=(40, 12)) as (app, pilot):
        await pilot.press("b")
        await wait_until(lambda: len(listed(app)) == DropDown.HEIGHT)
        await pilot.press("down", *["pagedown"] * 30)
        await pilot.pause()
        assert listed(app)[-1] == "b099"
        await pilot.press("enter")
        assert app.form.value == {"city": "b099"}


async def test_a_click_takes_a_value() -> None:
    async with typing(Server()) as (app, pilot):
        await pilot.press("b")
        await wait_until(lambda: listed(app))
        await pilot.click(app.form, offset=(20, 3))
        await pilot.pause()
        assert app.form.value == {"city": "bergen"}


async def test_values_with_control_characters_are_left_out_and_counted() -> None:
    async with typing(Server(["be\x1b[2Jst", "berlin", "ber\u202en"])) as (app, pilot):
        await pilot.press("b")
        await wait_until(lambda: listed(app) == ["berlin"])
        assert "2 unsafe left out" in "\n".join(app.lines())


async def test_what_is_typed_already_is_not_offered() -> None:
    server = Server(["b"])
    async with typing(server) as (app, pilot):
        await pilot.press("b")
        await wait_until(lambda: server.asked)
        await pilot.pause()
        assert listed(app) == []
