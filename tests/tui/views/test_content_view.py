"""Content blocks of every kind: seen, gone through, copied, chosen; and bounded."""

from __future__ import annotations

import base64
from typing import Any

from textual.widgets import Markdown

from mcp_studio.present.blocks import blocks_of
from mcp_studio.tui.views import content_view
from mcp_studio.tui.views.content_view import CARDS_MOST, IMAGES_MOST, Cards, ContentView
from mcp_studio.tui.views.image import ImageView
from tests.support import wait_until
from tests.tui.views.stage import Stage, staged
from tests.tui.views.test_image import png

IMAGE = {"type": "image", "mimeType": "image/png", "data": base64.b64encode(png(40, 20)).decode()}
AUDIO = {"type": "audio", "mimeType": "audio/wav", "data": "AAAA"}
LINK = {"type": "resource_link", "uri": "shop://welcome", "name": "Welcome [b]page[/b]\x1b[31m"}
FILE = {"type": "resource", "resource": {"uri": "file:///a.bin", "mimeType": "application/zip", "blob": "AAAA"}}
NOTE = {
    "type": "resource",
    "resource": {"uri": "note://1", "mimeType": "text/markdown", "text": "# Title\none\ntwo **bold**"},
}


def text(value: str) -> dict[str, str]:
    return {"type": "text", "text": value}


def screen(stage: Stage) -> str:
    return "\n".join(strip.text for strip in stage.screen._compositor.render_strips())


async def show(stage: Stage, *content: Any, markdown: bool | None = None) -> ContentView:
    view = stage.query_one(ContentView)
    await view.show(blocks_of({"content": list(content)}), markdown=markdown)
    view.entry_point().focus()
    return view


async def test_every_kind_of_block_has_a_card_and_keys_go_through_them() -> None:
    async with staged(ContentView(), (80, 60)) as (stage, pilot):
        view = await show(stage, text("some [b]text[/b]"), IMAGE, AUDIO, LINK, FILE, NOTE)
        await wait_until(lambda: "▀▀▀" in screen(stage))
        shown = screen(stage)
        for words in (
            "some [b]text[/b]",
            "image · image/png",
            "audio · audio/wav",
            "shop://welcome",
            "file · application",
        ):
            assert words in shown
        assert "Welcome [b]page[/b]␛[31m" in shown and "enter reads it" in shown
        kinds = [view.block and view.block.kind]
        for _ in range(5):
            await pilot.press("down")
            kinds.append(view.block and view.block.kind)
        assert kinds == ["text", "image", "audio", "link", "file", "text"]
        await pilot.press("k", "k", "y", "enter")
        assert stage.copied == ["shop://welcome"]
        (chosen,) = stage.of(ContentView.Chosen)
        assert isinstance(chosen, ContentView.Chosen) and chosen.block.uri == "shop://welcome"
        await pilot.press("g")
        assert view.block and view.block.kind == "text"
        await pilot.double_click(view.query_one(ImageView))
        assert len(stage.of(ContentView.Chosen)) == 2 and view.block.kind == "image"


async def test_text_alone_is_a_viewer_that_can_be_searched() -> None:
    async with staged(ContentView(), (60, 12)) as (stage, pilot):
        view = await show(stage, text("first"), text("".join(f"line {n}\n" for n in range(50_000))))
        await pilot.press("slash", *"line 42000", "enter")
        await wait_until(lambda: "line 42000" in screen(stage))
        assert view.block is None
        await show(stage, text("another"))
        await wait_until(lambda: "another" in screen(stage))
        await show(stage)
        await wait_until(lambda: "The result is empty." in screen(stage))


async def test_markdown_is_rendered_where_the_server_says_so_or_it_is_wanted() -> None:
    async with staged(ContentView(), (60, 20)) as (stage, pilot):
        await show(stage, NOTE)
        await wait_until(lambda: "two bold" in screen(stage))
        assert "# Title" not in screen(stage) and "one two" not in screen(stage), "each line has one of its own"
        await show(stage, text("# Title\n**bold** \x1b[31m [link](https://example.com)"))
        await wait_until(lambda: "**bold**" in screen(stage))
        await show(stage, text("# Title\n**bold** \x1b[31m [link](https://example.com)"), markdown=True)
        await wait_until(lambda: "**bold**" not in screen(stage) and "␛[31m" in screen(stage))
        markdown = stage.query_one(Markdown)
        markdown.post_message(Markdown.LinkClicked(markdown, "https://example.com"))
        await pilot.pause()
        assert stage.copied == ["https://example.com"]
        await show(stage, NOTE, markdown=False)
        await wait_until(lambda: "two **bold**" in screen(stage))
        await show(stage, text("# Title " * 10_000), markdown=True)
        await wait_until(lambda: "# Title # Title" in screen(stage), what="long text is shown as it is")


async def test_messages_stand_below_their_roles() -> None:
    async with staged(ContentView(), (60, 20)) as (stage, pilot):
        messages = [{"role": "user", "content": text("Hello?")}, {"role": "assistant", "content": text("Yes.")}]
        view = stage.query_one(ContentView)
        await view.show(blocks_of({"messages": messages}))
        await pilot.pause()
        rows = [line.strip(" ▌") for line in screen(stage).splitlines() if line.strip()]
        assert [row.strip() for row in rows[:4]] == ["user", "Hello?", "assistant", "Yes."]


async def test_many_blocks_and_images_cost_a_bounded_amount(monkeypatch: Any) -> None:
    drawn: list[bytes] = []

    def draw(data: bytes, *_: object, **__: object) -> list[Any]:
        drawn.append(data)
        return []

    monkeypatch.setattr("mcp_studio.tui.views.image.draw", draw)
    async with staged(ContentView(), (60, 20)) as (stage, pilot):
        await show(stage, text("x" * 100_000), *[IMAGE] * 300)
        await wait_until(lambda: len(drawn) >= IMAGES_MOST)
        await pilot.pause()
        assert len(drawn) == IMAGES_MOST
        assert len(stage.query_one(Cards).query(content_view.Card)) == CARDS_MOST
        await pilot.press("G")
        assert "There are more blocks" in screen(stage)


async def test_a_broken_image_says_why() -> None:
    async with staged(ContentView(), (60, 20)) as (stage, _):
        await show(stage, {**IMAGE, "data": "é"})
        await wait_until(lambda: "not base64" in screen(stage))
