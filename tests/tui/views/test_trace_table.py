"""The trace table: columns, following, a query, and a ring that goes round under the cursor."""

from __future__ import annotations

import pytest
from rich.cells import cell_len
from textual.app import ComposeResult
from textual.events import MouseScrollDown, MouseScrollUp
from textual.widgets import Static

from mcp_studio.limits import Limits
from mcp_studio.redact import Redactor
from mcp_studio.trace.message import WireMessage
from mcp_studio.trace.store import TraceStore
from mcp_studio.tui.views.line import width_of
from mcp_studio.tui.views.trace_row import draw, header, widths_for, words_of
from mcp_studio.tui.views.trace_table import TraceHeader, TraceTable
from tests.support import wait_until
from tests.tui.views.stage import Stage, staged


def text_of(store: TraceStore, number: int, width: int = 118) -> str:
    return "".join(text for text, _ in draw(store, number - 1, widths_for(width)))


def store_of(count: int, entries: int = 1_000) -> TraceStore:
    store = TraceStore(Redactor(), Limits(trace_entries=entries))
    add(store, count)
    return store


def add(store: TraceStore, count: int, server: str = "files") -> None:
    for _ in range(count):
        made = store.add(server, "out", "request", b"{}")
        made.method, made.target = "tools/call", f"tool {made.number}"
        store.revised(made)


def numbers(stage: Stage) -> list[int]:
    """The numbers of the entries on screen."""
    return [int(line.rsplit("tool ")[1].split()[0]) for line in stage.lines() if "tool " in line]


def called(store: TraceStore, outcome: str) -> tuple[WireMessage, WireMessage | None]:
    asked = store.add("github", "out", "request", b"{}")
    asked.method, asked.target = "tools/call", "evil\x1b[2J"
    span = store.opened(asked)
    if outcome == "open":
        return asked, None
    if outcome in ("cancelled", "lost"):
        store.gave_up(span, outcome)  # type: ignore[arg-type]
        return asked, None
    answer = store.add("github", "in", "error" if outcome == "error" else "result", b"x" * 12_345)
    store.settled(span, answer, outcome != "ok", tool=outcome == "tool error")
    store.columns.time[answer.number - 1] = asked.time + 0.812
    return asked, answer


@pytest.mark.parametrize("width", [20, 36, 56, 78, 90, 118, 198])
def test_columns_adapt_and_every_row_fits(width: int) -> None:
    store = TraceStore(Redactor())
    for outcome in ("ok", "tool error", "error", "cancelled", "lost", "open"):
        called(store, outcome)
    store.add("a server with a very long name indeed", "in", "stray", b"oops \x1b[31m" * 50)
    store.add("s", "none", "note", "漢字".encode() * 50)
    for row in range(len(store)):
        pieces = draw(store, row, widths_for(width))
        assert width_of(pieces) <= max(width, 36), store[row]
        assert "\x1b" not in "".join(text for text, _ in pieces)
    names = header(widths_for(width))
    assert cell_len(names) <= max(width, 36)
    assert "Server" in names and "Meth" in names and "ms" in names
    assert ("arget" in names) == (width >= 56)
    assert ("Bytes" in names) == (width >= 70)
    assert ("Time" in names) == (width >= 56)


def test_a_row_says_how_it_stands_with_sign_word_and_time() -> None:
    store = TraceStore(Redactor())
    signs = {"ok": "✓", "tool error": "✗", "error": "✗", "cancelled": "○", "lost": "✗", "open": "●"}
    for outcome, sign in signs.items():
        asked, answer = called(store, outcome)
        text = text_of(store, asked.number)
        assert "evil␛[2J" in text and ("   812  " in text) == (answer is not None)
        for one in (asked, answer):
            assert one is None or text_of(store, one.number).rstrip().endswith(f"{sign} {outcome}")


def test_without_room_for_targets_they_share_the_method_column() -> None:
    store = store_of(1)
    assert "tools/call tool 1" in text_of(store, 1, 60)
    assert widths_for(60).target == 0


async def test_it_follows_until_the_cursor_leaves_the_end_and_again_at_the_end() -> None:
    store = store_of(50)
    view = TraceTable(store)
    async with staged(view, (60, 10)) as (stage, pilot):
        await wait_until(lambda: numbers(stage) == list(range(41, 51)))
        add(store, 5)
        await wait_until(lambda: numbers(stage)[-1] == 55)
        assert view.following and view.message is store[54]
        await pilot.press("up", "up")
        assert not view.following and view.message is store[52]
        add(store, 10)
        await wait_until(lambda: view.row_count == 65)
        assert numbers(stage) == list(range(46, 56)) and view.message is store[52]
        await pilot.press("end")
        assert view.following and numbers(stage)[-1] == 65
        view.action_follow()
        assert not view.following
        await pilot.press("up", "down")
        assert view.following, "the last row is the end"


async def test_the_wheel_stops_following_and_comes_back_to_it() -> None:
    store = store_of(50)
    view = TraceTable(store)
    async with staged(view, (60, 10)) as (stage, pilot):
        await wait_until(lambda: numbers(stage)[-1:] == [50])
        await pilot._post_mouse_events([MouseScrollUp] * 2, widget=view)
        await pilot.pause()
        assert not view.following
        add(store, 20)
        await wait_until(lambda: view.row_count == 70)
        assert numbers(stage)[-1] < 50
        await pilot._post_mouse_events([MouseScrollDown] * 60, widget=view)
        await pilot.pause()
        assert view.following
        await wait_until(lambda: numbers(stage)[-1] == 70)


async def test_a_smaller_and_a_larger_terminal_keep_following() -> None:
    store = store_of(50)
    view = TraceTable(store)
    async with staged(view, (60, 10)) as (stage, pilot):
        for height in (20, 6, 30):
            await pilot.resize_terminal(60, height)
            await pilot.pause()
            add(store, 1)
            await wait_until(lambda: numbers(stage)[-1:] == [store.total])
            assert view.following and len(numbers(stage)) == height


async def test_entries_keep_their_place_while_the_oldest_go() -> None:
    store = store_of(100, entries=100)
    view = TraceTable(store)
    async with staged(view, (60, 10)) as (stage, pilot):
        await pilot.press("up")
        for _ in range(20):
            await pilot.press("up")
        before, kept = numbers(stage), view.message
        add(store, 40)
        await wait_until(lambda: view.row_count == 100 and numbers(stage) == before)
        assert numbers(stage) == before and view.message is kept
        add(store, 100)
        await wait_until(lambda: numbers(stage) == list(range(141, 151)))
        assert view.cursor == 0
        await pilot.press("down")
        assert view.message is store[1]


async def test_a_query_finds_old_and_new_and_keeps_the_cursor() -> None:
    store = store_of(0, entries=10_000)
    for number in range(3_000):
        add(store, 1, "github" if number % 3 == 0 else "files")
    view = TraceTable(store)
    async with staged(view, (60, 10)) as (stage, pilot):
        await wait_until(lambda: view.row_count == 3_000)
        view.move_to(1_500)
        view.set_query("server:git")
        await wait_until(lambda: view.search is not None and view.search.done == 1 and view.row_count == 1_000)
        assert view.message is store[1_500] and 1_501 in numbers(stage)
        add(store, 1, "github")
        add(store, 1, "files")
        await wait_until(lambda: view.row_count == 1_001)
        view.set_query("nothing like it")
        await wait_until(lambda: view.search is not None and view.search.done == 1)
        assert view.row_count == 0 and view.message is None
        await pilot.press("down", "up", "end", "g", "enter", "pagedown")
        view.set_query("")
        await wait_until(lambda: view.row_count == 3_002)


async def test_the_pane_is_told_where_the_person_goes() -> None:
    store = store_of(30)
    view = TraceTable(store)
    async with staged(view, (60, 10)) as (stage, pilot):
        await wait_until(lambda: view.row_count == 30)
        await pilot.press("up", "enter")
        assert [message.entry for message in stage.of(TraceTable.Highlighted)] == [store[28]]
        assert [message.entry for message in stage.of(TraceTable.Opened)] == [store[28]]


async def test_an_entry_is_gone_to_by_its_number_and_marks_stand_in_front() -> None:
    store = store_of(30)
    store.mark(3, True)
    store.comment(7, "look")
    view = TraceTable(store)
    async with staged(view, (60, 10)):
        assert view.go_to(3) and not view.following and not view.go_to(31)
        assert view.message is store[2]
        assert text_of(store, 3)[0] == "◆" and text_of(store, 7)[0] == "◇"


async def test_an_answer_changes_the_row_of_its_request() -> None:
    store = TraceStore(Redactor())
    asked = store.add("s", "out", "request", b"{}")
    asked.method = "tools/call"
    span = store.opened(asked)
    view = TraceTable(store)
    async with staged(view, (100, 10)) as (stage, _):
        await wait_until(lambda: stage.lines()[0].endswith("● open"))
        store.settled(span, store.add("s", "in", "result", b"{}"), False)
        await wait_until(lambda: stage.lines()[0].endswith("✓ ok"))


async def test_an_empty_trace_says_so_until_something_comes() -> None:
    store = store_of(0)
    view = TraceTable(store, empty="Nothing yet.")
    async with staged(view, (60, 10)) as (stage, _):
        await wait_until(lambda: stage.lines()[0] == " Nothing yet.")
        add(store, 3)
        await wait_until(lambda: numbers(stage) == [1, 2, 3])


async def test_hidden_it_rests_and_shown_again_it_is_up_to_date() -> None:
    store = store_of(5)
    view = TraceTable(store)
    async with staged(view, (60, 10)) as (stage, pilot):
        await wait_until(lambda: numbers(stage) == [1, 2, 3, 4, 5])
        view.display = False
        await pilot.pause()
        add(store, 3)
        view.display = True
        await wait_until(lambda: numbers(stage)[-1:] == [8])


async def test_the_header_stands_over_the_columns() -> None:
    class Both(Stage):
        def compose(self) -> ComposeResult:
            header = TraceHeader()
            yield header
            yield TraceTable(store_of(1), header)

    app = Both(Static())
    async with app.run_test(size=(120, 10)) as pilot:
        await pilot.pause()
        table = app.query_one(TraceTable)
        names = app.query_one(TraceHeader).render_line(0).text
        first = table.render_lines(table.size.region)[0].text
        assert names.index("Server") == first.index("files") and names.index("Target") == first.index("tool 1")


@pytest.mark.parametrize(
    ("kind", "method", "body", "words"),
    [
        ("notification", "notifications/message", b'{"params":{"level":"info","data":"a\\n b"}}', "info a b"),
        ("notification", "notifications/message", b'{"params":{"level":"info","data":{"x":1}}}', 'info {"x": 1}'),
        (
            "notification",
            "notifications/progress",
            b'{"params":{"progress":2,"total":3000,"message":"m"}}',
            "2 of 3,000 m",
        ),
        ("notification", "notifications/cancelled", b'{"params":{"requestId":7,"reason":"late"}}', "request 7 late"),
        ("error", "tools/call", b'{"error":{"code":-32602,"message":"Invalid params"}}', "-32602 Invalid params"),
        ("error", "tools/call", b'{"error":"odd"}', ""),
        ("notification", "notifications/message", b"no json", ""),
        ("result", "tools/call", b'{"result":{}}', ""),
    ],
)
def test_small_messages_say_something_in_their_row(kind: str, method: str, body: bytes, words: str) -> None:
    assert words_of(kind, method, body) == words
