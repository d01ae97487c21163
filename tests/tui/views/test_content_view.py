"""Content blocks: many pictures and long texts cost a bounded amount of work."""

from __future__ import annotations

import pytest
from mcp_studio.tui.views.content_view import PICTURES_MOST, ContentView, Item

from mcp_studio.tui.views import content_view
from tests.support import wait_until
from tests.tui.views.stage import staged


async def test_only_the_first_pictures_are_drawn_by_themselves_and_texts_are_wrapped_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    wrapped: list[int] = []
    real = content_view.WrappedText

    def counting(data: bytes, width: int) -> object:
        wrapped.append(len(data))
        return real(data, width)

    monkeypatch.setattr(content_view, "WrappedText", counting)
    decoded: list[int] = []

    def picture(number: int) -> bytes:
        decoded.append(number)
        raise ValueError("no picture")

    view = ContentView()
    async with staged(view) as (_, pilot):
        items = [Item(head=f"image {n}", picture=lambda n=n: picture(n)) for n in range(200)]
        view.show([Item(text="some words"), *items])
        await wait_until(lambda: len(decoded) == PICTURES_MOST)
        await pilot.pause()
        assert decoded == list(range(PICTURES_MOST))
        assert wrapped == [len("some words")]
