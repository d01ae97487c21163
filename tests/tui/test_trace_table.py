"""The trace table: rows, columns, following, queries, and a ring that goes round under the cursor."""

from __future__ import annotations

import time
from array import array
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import pytest
from rich.cells import cell_len
from textual.app import App, ComposeResult
from textual.events import MouseScrollDown, MouseScrollUp
from textual.pilot import Pilot
from textual.widgets import Static

from mcp_studio.limits import Limits
from mcp_studio.redact import Redactor
from mcp_studio.trace.message import CODES, COMMENTED, MARKED, Recording, Span, rows_with
from mcp_studio.trace.query.parser import QueryError
from mcp_studio.trace.store import TraceStore
from mcp_studio.tui.app import SHEETS
from mcp_studio.tui.themes import complete
from mcp_studio.tui.views.rows import choose, width_of
from mcp_studio.tui.views.trace_table import TraceTable, draw, header, size_text, widths_for, words_of
from tests.support import wait_until
from tests.trace.lint.kit import MODERN, Talk, text
from tests.trace.made import Made


def store_of(count: int, entries: int = 1_000) -> TraceStore:
    store = TraceStore(Redactor(), Limits(trace_entries=entries))
    add(store, count)
    return store


def add(store: TraceStore, count: int, server: str = "files") -> None:
    for _ in range(count):
        store.add(server, "out", "request", b"{}", "tools/call", f"tool {store.total + 1}")


def row(store: TraceStore, place: int, width: int = 118) -> str:
    return "".join(part for part, _ in draw(store, place, widths_for(width)))


# Rows

OUTCOMES = ("ok", "tool error", "error", "cancelled", "lost", "open")


def called(store: TraceStore, outcome: str) -> Span:
    asked = store.add("github", "out", "request", b"{}", "tools/call", "evil\x1b[2J")
    span = store.opened(asked)
    if outcome in ("cancelled", "lost"):
        store.gave_up(span, outcome)
    elif outcome != "open":
        answer = store.add("github", "in", "error" if outcome == "error" else "result", b"x" * 12_345)
        answer.time = asked.time + 0.812
        store.columns.time[-1] = answer.time
        store.settled(span, answer, outcome)
    return span


@pytest.mark.parametrize("width", [36, 56, 78, 90, 118, 198])
def test_columns_adapt_and_every_row_fits(width: int) -> None:
    store = TraceStore(Redactor())
    for outcome in OUTCOMES:
        called(store, outcome)
    store.add("a server with a very long name indeed", "in", "stray", b"oops \x1b[31m" * 50)
    store.add("s", "none", "note", "漢字".encode() * 50)
    names = header(widths_for(width))
    for place in range(len(store)):
        pieces = draw(store, place, widths_for(width))
        assert width_of(pieces) <= max(width, 36) and "\x1b" not in "".join(text for text, _ in pieces)
    assert cell_len(names) <= max(width, 36)
    shown = {name for name in ("Time", "Server", "Method", "Target", "ms", "Size", "Status") if name in names}
    least = {"Time": 56, "Target": 80, "Size": 70, "Status": 90}
    assert shown == {name for name in (*least, "Server", "Method", "ms") if width >= least.get(name, 0)}


def test_a_row_says_how_it_stands_by_sign_word_and_time() -> None:
    store = TraceStore(Redactor())
    for outcome, said in zip(
        OUTCOMES, ("✓ ok", "✗ tool error", "✗ error", "○ cancelled", "✗ no reply", "● open"), strict=True
    ):
        place = len(store)
        called(store, outcome)
        for end in range(place, len(store)):
            assert row(store, end).rstrip().endswith(said) and "evil␛[2J" in row(store, end)
            assert ("   812  " in row(store, end)) == (len(store) - place == 2)
    probe = store.add("s", "out", "request", b"{}", "server/discover", "", 1, probe=True)
    refusal = store.add("s", "in", "error", b"{}", "server/discover", "", 1)
    store.settled(store.opened(probe), refusal, "error")
    status = store.add("s", "in", "http", b"400 Bad Request", "400 Bad Request")
    assert all(row(store, one.number - 1).rstrip().endswith("○ refused") for one in (probe, refusal, status))
    status = store.add("s", "in", "http", b"400 Bad Request", "400 Bad Request", exchange=7)
    assert row(store, status.number - 1).rstrip().endswith("✗ failed")


def test_a_row_shows_marks_findings_rounds_and_what_a_request_came_under() -> None:
    talk = Talk(MODERN)
    talk.called("tools/call", {"resultType": "input_required", "requestState": "s"})
    talk.ask("tools/call", follows=2)
    talk.answer(text())
    assert all(row(talk.store, end).rstrip().endswith("◐ needs input") for end in (2, 3))
    assert "round" not in row(talk.store, 2) and "↳ round 2 tools/call" in row(talk.store, len(talk.store) - 2)
    store = TraceStore(Redactor())
    outer = called(store, "open")
    inner = store.add("s", "in", "request", b"{}", "elicitation/create")
    store.opened(inner, outer)
    store.revised(inner)
    assert "└ elicitation/create" in row(store, 1)
    store.mark(1, True)
    store.comment(2, "look")
    assert (row(store, 0)[0], row(store, 1)[0]) == ("◆", "◇")
    flags = array("B", [0, MARKED, 0, COMMENTED])
    assert list(rows_with(flags, bytes([MARKED, COMMENTED]), 0, 99)) == [1, 3]
    for ascii, signs in ((False, "✗▲· "), (True, "x!. ")):
        choose(ascii=ascii)
        talk, found = Talk(), ""
        for message in (
            {"jsonrpc": "1.0", "method": "notifications/cancelled", "extra": 1},
            {"jsonrpc": "2.0", "id": "x", "method": "no/such"}, {"jsonrpc": "2.0", "method": "notifications/hologram"},
            {"jsonrpc": "2.0", "method": "notifications/cancelled"},
        ):  # fmt: skip
            talk.hear(message)
            found += row(talk.store, len(talk.store) - 1)[0]
        choose(ascii=False)
        assert found == signs


def test_without_room_for_targets_they_share_the_column_of_the_method() -> None:
    assert "tools/call tool 1" in row(store_of(1), 0, 60) and widths_for(60).target == 0
    store = TraceStore(Redactor())
    store.add("s", "in", "notification", b"{}", "notifications/subscriptions/acknowledged", "here")
    assert "notifications/su…ons/acknowledged " in row(store, 0, 150), "a long name is cut in its middle"


def test_a_method_without_a_target_takes_the_column_of_the_target_too() -> None:
    store = TraceStore(Redactor())
    store.add("away", "in", "http", b"x", "failed: Nothing answers at 127.0.0.1:9, and the connection was refused")
    assert "failed: Nothing answers at 127.0.0.1:9, and the connection was refused" in row(store, 0, 150)


def test_sizes_take_seven_cells_at_most() -> None:
    sizes = (0, 1, 999, 1_023, 1_500, 10_239, 38_000, 319_488, 1_048_575, 1_200_000, 64 << 20)
    assert [size_text(size) for size in sizes] == [
        "0 B", "1 B", "999 B", "1023 B", "1.5 KB", "10 KB", "37 KB", "312 KB", "1023 KB", "1.1 MB", "64 MB",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("kind", "method", "body", "words"),
    [
        ("notification", "message", b'{"params":{"level":"info","data":"a\\n b"}}', "info a b"),
        ("notification", "message", b'{"params":{"level":"info","data":{"x":1}}}', 'info {"x": 1}'),
        ("notification", "progress", b'{"params":{"progress":2,"total":3000,"message":"m"}}', "2 of 3,000 m"),
        ("notification", "cancelled", b'{"params":{"requestId":7,"reason":"late"}}', "7 late"),
        ("error", "tools/call", b'{"error":{"code":-32602,"message":"Invalid params"}}', "-32602 Invalid params"),
        ("error", "tools/call", b'{"error":"odd"}', ""),
        ("notification", "message", b"no json", ""),
        ("result", "tools/call", b'{"result":{}}', ""),
    ],
)
def test_small_messages_say_something_in_their_row(kind: str, method: str, body: bytes, words: str) -> None:
    assert words_of(kind, f"notifications/{method}" if kind == "notification" else method, body) == words


# The table


class Bare(App[None]):
    """Nothing but a table and its header."""

    CSS_PATH = [*SHEETS]  # noqa: RUF012

    def __init__(self, store: Recording) -> None:
        super().__init__()
        self.names = Static(markup=False)
        self.table = TraceTable(store, self.names, empty="Nothing yet.")

    def get_css_variables(self) -> dict[str, str]:
        return complete(super().get_css_variables())

    def compose(self) -> ComposeResult:
        yield self.names
        yield self.table

    @property
    def lines(self) -> list[str]:
        """The rows on screen."""
        return [self.table.render_line(y).text.rstrip() for y in range(self.table.size.height)]

    @property
    def numbers(self) -> list[int]:
        """The numbers of the entries on screen."""
        return [int(line.rsplit("tool ")[1].split()[0]) for line in self.lines if "tool " in line]

    async def until_shown(self, *numbers: int) -> None:
        """Wait until the last rows are of these entries."""
        await wait_until(lambda: self.numbers[-len(numbers) :] == list(numbers))


@asynccontextmanager
async def staged(store: Recording) -> AsyncGenerator[tuple[Bare, TraceTable, Pilot[None]]]:
    app = Bare(store)
    async with app.run_test(size=(60, 11)) as pilot:
        if isinstance(store, TraceStore):
            store.changed.connect(lambda _: app.table.call_later(app.table.refresh_entries) and None)
        app.table.focus()
        await pilot.pause()
        yield app, app.table, pilot


async def test_it_follows_until_the_person_moves_away_and_again_at_the_end() -> None:
    store = store_of(0)
    async with staged(store) as (app, table, pilot):
        assert app.lines[0] == " Nothing yet." and table.message is None
        add(store, 50)
        await app.until_shown(*range(41, 51))
        await pilot.press("up", "up")
        assert not table.following and table.message is store[47]
        add(store, 10)
        await wait_until(lambda: table.row_count == 60)
        assert app.numbers == list(range(41, 51)) and table.message is store[47]
        await pilot.press("end")
        assert table.following and app.numbers[-1] == 60
        await pilot.press("up", "down")
        assert table.following, "the last row is the end"
        table.post_message(wheel(MouseScrollUp, table))
        await wait_until(lambda: not table.following)
        add(store, 10)
        await wait_until(lambda: table.row_count == 70)
        assert app.numbers[-1] < 60
        for _ in range(30):
            table.post_message(wheel(MouseScrollDown, table))
        await wait_until(lambda: table.following)
        for height in (21, 7):
            await pilot.resize_terminal(60, height)
            add(store, 1)
            await app.until_shown(store.total)
            assert len(app.numbers) == height - 1
        table.display = False
        await pilot.pause()
        add(store, 3)
        table.display = True
        await app.until_shown(store.total)


def wheel(kind: type[MouseScrollUp | MouseScrollDown], table: TraceTable) -> MouseScrollUp | MouseScrollDown:
    return kind(table, 5, 5, 0, 0, 0, False, False, False)


async def test_rows_keep_their_place_while_the_oldest_go_and_answers_change_them() -> None:
    store = store_of(100, entries=100)
    async with staged(store) as (app, table, pilot):
        await pilot.press(*["up"] * 21)
        before, kept = app.numbers, table.message
        add(store, 40)
        await wait_until(lambda: app.numbers == before and store.first_number == 41)
        assert table.message is kept
        add(store, 100)
        await wait_until(lambda: app.numbers == list(range(141, 151)))
        assert table.cursor == 0
        await pilot.press("down")
        assert table.message is store[1]
        span = store.opened(store[len(store) - 1])
        await pilot.press("end")
        await wait_until(lambda: app.lines[-1].endswith("●"))
        store.settled(span, store.add("s", "in", "result", b"{}"), "ok")
        await wait_until(lambda: app.lines[-2].endswith("✓"))


async def test_a_query_finds_old_and_new_and_keeps_the_cursor() -> None:
    store = store_of(0, entries=10_000)
    for number in range(3_000):
        add(store, 1, "github" if number % 3 == 0 else "files")
    async with staged(store) as (app, table, pilot):
        await wait_until(lambda: table.row_count == 3_000)
        table.move_to(1_500)
        table.set_query("server:git")
        await wait_until(lambda: table.row_count == 1_000 and table.search and table.search.done == 1)
        assert table.message is store[1_500] and 1_501 in app.numbers
        with pytest.raises(QueryError):
            table.set_query("kind:nothing")
        assert table.row_count == 1_000, "a wrong query changes nothing"
        add(store, 1, "github")
        add(store, 1)
        await wait_until(lambda: table.row_count == 1_001)
        table.set_query("nothing like it")
        await wait_until(lambda: table.search and table.search.done == 1)
        assert table.row_count == 0 and table.message is None
        await pilot.press("down", "up", "end", "g", "enter", "pagedown")
        table.set_query("")
        await wait_until(lambda: table.row_count == 3_002)
        assert table.go_to(7) and table.message is store[6] and not table.go_to(9_999)


class Million(Made):
    """As many entries as a trace keeps."""

    def __init__(self, count: int) -> None:
        super().__init__()
        self.request("tools/call", "tool 1")
        for name in CODES:
            column = getattr(self.columns, name)
            column.extend(array(column.typecode, column[:1]) * (count - 1))  # pyright: ignore
        self.total, self.first_number, self.revision = count, 1, 0

    def __len__(self) -> int:
        return self.total

    def entry(self, number: int) -> None:
        """Bodies are not looked at."""


async def test_a_million_rows_scroll_at_once() -> None:
    count = 1_000_000
    async with staged(Million(count).recording) as (app, table, pilot):
        began = time.process_time()
        for keys, at in (("home", 0), ("end", count - 1), ("pageup", count - 10), ("up", count - 11)):
            await pilot.press(keys)
            assert table.cursor == at and len(app.numbers) == 10
        assert time.process_time() - began < 2
        assert header(widths_for(59)).index("Method") == app.lines[0].index("tools/call")
