"""The trace as a table that keeps up with any number of messages: the drawing of one row, and the table."""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from textual.message import Message
from textual.widgets import Static

from mcp_studio.errors import LimitExceeded
from mcp_studio.jsontext import Json, JsonProblem, loads, mapping, printable
from mcp_studio.present import units
from mcp_studio.protocol.core import progress_text, read_progress
from mcp_studio.protocol.versions import LISTS
from mcp_studio.safetext import safe
from mcp_studio.trace import message as bits
from mcp_studio.trace.message import Columns, Recording, WireMessage, codes
from mcp_studio.trace.query.parser import parse
from mcp_studio.trace.search import Search
from mcp_studio.trace.server_tap import beginning
from mcp_studio.tui.views.rows import CursorView, Line, Piece, cut_inside, fit, glyphs

_DEEPEST = 3
"""Levels by which a request that belongs to another is indented at most."""
_READ = 4_096
"""Larger bodies are not read for the row's text."""
_LONGEST = 200
_LOOKED_AT = 200
"""Messages of a folded row that are read for its text."""
_LISTS = (*LISTS, "tasks/list", *(f"notifications/{name}_changed" for name in LISTS))
_FAILED = ("4", "5", "f")
"""The first characters of an HTTP status that means a failure."""
_HEADS = 8
"""Two list messages fewer entries apart, with only HTTP messages between them, belong to one refresh."""
_PLAIN, _HTTP = codes("request", "notification", "result"), codes("http")
NAMES = {"lost": "no reply"}
"""The names of outcomes on the screen, where they differ from the outcome's own name."""
_PARAMETERS = {
    "notifications/message": ("level", "data"), "notifications/cancelled": ("requestId", "reason"),
    "notifications/resources/updated": ("uri",),
}  # fmt: skip
"""The parameters that are shown of a notification, by its method."""


class Widths(NamedTuple):
    """Cells of each column; 0 if there is no room for the column."""

    time: int
    way: int
    server: int
    method: int
    target: int
    ms: int
    size: int
    status: int


def widths_for(width: int) -> Widths:
    """The widths for so many cells: always direction, server, method and ms, then time, status, size and target."""
    clock = 13 if width >= 100 else 8 if width >= 56 else 0
    status = 13 if width >= 90 else 1
    size = 7 if width >= 70 else 0
    server, ms = 14 if width >= 140 else 10, 7 if width >= 80 else 6
    # Two cells in front and one behind, one for the direction, two between columns.
    used = 4 + sum(cells + 2 for cells in (clock, server, ms, size, status) if cells) + 2
    rest = max(7, width - used)
    method = rest if width < 80 else min(33, max(18, (rest - 2) * 3 // 5))
    return Widths(clock, 1, server, method, max(0, rest - 2 - method), ms, size, status)


def header(cells: Widths) -> str:
    method, status = "Method" if cells.target else "Method, target", "Status" if cells.status > 1 else ""
    names = ("Time", "", "Server", method, "Target", "ms", "Size", status)
    return "  " + "".join(text for text, _ in _line([], cells, *((name, "") for name in names)))[:-1]


def draw(recording: Recording, row: int, cells: Widths) -> list[Piece]:
    """Draw the entry in a row of the columns; every text in the pieces is safe."""
    columns, signs = recording.columns, glyphs()
    flags = columns.flags[row]
    kind, direction, method = columns.kind_of(row), columns.direction_of(row), _text(columns, "method", row)
    outcome = "needs input" if flags & bits.NEEDS_INPUT else columns.outcome_of(row)
    probe = flags & bits.PROBE
    if kind == "http" and method[:3] in ("400", "404", "405"):  # so do older servers answer a probe
        sent = (at for at in range(max(0, row - _HEADS), row) if columns.exchange[at] == columns.exchange[row])
        probe = any(columns.flags[at] & bits.PROBE for at in sent)
    sign, word, mood = standing(kind, direction, outcome, method, bool(probe))
    way: Piece = (signs.by_hand, "out") if flags & bits.BY_HAND else arrow(direction)
    look = "dim" if kind in ("result", "error") or not method else "strong" if kind == "request" else ""
    named = _indented(columns, row, safe(method, 120) or {"stray": "stdout"}.get(kind, kind))
    about = _about(recording, row, kind, cells.target + cells.method)
    if cells.target and method and about:
        named = cut_inside(named, cells.method)
    else:  # a method without a target takes its column, too, and so does the text of a message without a method
        gap = 2 * bool(cells.target)
        named, cells = f"{named} {about}".rstrip(), cells._replace(method=cells.method + gap + cells.target, target=0)
    ms, took = columns.ms(row), ""
    if outcome and kind in ("request", "result", "error"):
        took = signs.more if outcome == "open" else signs.dash
    if took and ms is not None:
        took = f"{ms:.1f}" if ms < 9.95 else f"{ms:.0f}" if ms < 99_950 else f"{ms / 1000:.0f} s"
    return _line(
        _remarks((flags,)), cells,
        (units.clock(columns.time[row], cells.time > 12), "dim"), way,
        (safe(_text(columns, "server", row), 80), ""), (named, look), (about, "" if columns.target[row] else "dim"),
        (took, "dim"), (size_text(columns.size[row]), "dim"), (f"{sign} {word}", mood),
    )  # fmt: skip


def draw_refreshes(recording: Recording, row: int, count: int, cells: Widths) -> list[Piece]:
    """Draw several messages about lists as one row: the lists, and their worst outcome."""
    columns, signs, rows = recording.columns, glyphs(), range(row, row + min(count, _LOOKED_AT))
    servers = dict.fromkeys(_text(columns, "server", at) for at in rows)
    lists = dict.fromkeys(name for at in rows if (name := _text(columns, "method", at)).endswith("/list"))
    outcomes = {columns.outcome_of(at) for at in rows}
    worst = next((outcome for outcome in ("lost", "open") if outcome in outcomes), "ok")
    sign, word, mood = standing("request", "out", worst, "")
    server = safe(", ".join(servers), 80) if len(servers) == 1 else units.plural(len(servers), "server")
    return _line(
        _remarks(columns.flags[at] for at in rows), cells,
        (units.clock(columns.time[row], cells.time > 12), "dim"), (signs.folded, "dim"),
        (server, "dim"), (f"{count:,} list messages", "dim"),
        (safe(", ".join(name.removesuffix("/list") for name in lists), 200), "dim"),
        ("", ""), (size_text(sum(columns.size[at] for at in rows)), "dim"),
        (f"{sign} {word}", "dim" if worst == "ok" else mood),
    )  # fmt: skip


def _remarks(flags: Iterable[int]) -> list[Piece]:
    """The signs for the person's marks and comments, and for the lint's findings, of some entries."""
    signs, marks, severity = glyphs(), 0, 0
    for one in flags:
        marks, severity = marks | one // bits.MARKED & 3, max(severity, one >> bits.SEVERITY & 3)
    found = ((" ", ""), (signs.dot, "dim"), (signs.warning, "warn"), (signs.bad, "bad"))
    mark: Piece = ((" ", signs.marked, signs.said, signs.marked_said)[marks], "accent")
    return [mark, found[severity]] if marks else [found[severity], mark]


def _line(remarks: list[Piece], cells: Widths, *pieces: Piece) -> list[Piece]:
    """Fit a text into each column. Each gap belongs to the cell before it: half as many pieces to style and write."""
    line = list(remarks)
    for name, width, (text, look) in zip(Widths._fields, cells, pieces, strict=True):
        if width:
            # A column of one cell has room for a sign alone, without its word.
            text = text[:1] if width == 1 else f" {text}" if name == "time" and width > 12 else text
            line.append((f"{fit(text, width, right=name in ('ms', 'size'))}  ", look))
    return [*line[:-1], (line[-1][0][:-1], line[-1][1])]


def arrow(direction: str) -> Piece:
    """The arrow for the direction of a message."""
    signs = glyphs()
    return {"out": (signs.sent, "out"), "in": (signs.received, "in")}.get(direction, (signs.dot, "dim"))


def name_of(entry: WireMessage) -> str:
    """A short name of a message: `tools/call create_issue · github`."""
    what = " ".join(filter(None, (entry.method or entry.kind, entry.target)))
    return f"{safe(what, 80)} · {safe(entry.server, 40)}"


def standing(kind: str, direction: str, outcome: str, method: str, probe: bool = False) -> tuple[str, str, str]:
    """The state of an entry: a sign, a word, and their look; an error that answers a probe is no failure."""
    signs, ends = glyphs(), kind in ("request", "result")
    if probe and (kind in ("error", "http") or outcome == "error"):
        return signs.off, "refused", "dim"
    if kind == "error" or (ends and outcome in ("tool error", "error", "lost")):
        return signs.bad, NAMES.get(outcome, outcome) or "error", "bad"
    if outcome == "needs input":
        return signs.half, outcome, "warn"
    if ends and outcome in ("ok", "cancelled", "open"):
        waits = outcome == "open" and direction == "in"
        sign, look = {"ok": (signs.ok, "ok"), "open": (signs.on, "warn")}.get(outcome, (signs.off, "warn"))
        return sign, "waiting" if waits else outcome, look
    if kind == "result":
        return signs.warning, "unasked", "warn"
    if kind == "http" and direction == "in" and method[:1] in _FAILED:
        return signs.bad, "failed", "bad"
    wrong = {"invalid": "no message", "stray": "unexpected"}
    return (signs.bad, wrong[kind], "bad") if kind in wrong else (" ", "", "dim")


def took_text(ms: float | None) -> str:
    """Milliseconds in at most seven characters: `0.4 ms`, `812 ms`, `12.1 s`, `45 min`; a dash for None."""
    if ms is None or ms < 9.95:
        return glyphs().dash if ms is None else f"{ms:.1f} ms"
    return units.duration(ms) if ms < 60_000 else units.seconds(ms / 1000)


def size_text(size: int) -> str:
    """A size in at most seven characters: `446 B`, `1.4 KB`, `312 KB`, `12.5 MB`."""
    return units.size(size if size < 10_240 else size & ~1023)


def _text(columns: Columns, name: str, row: int) -> str:
    return getattr(columns, f"{name}s").texts[getattr(columns, name)[row]]


def _indented(columns: Columns, row: int, name: str) -> str:
    """The name with the number of its round, or indented if its request belongs to another request."""
    number = columns.first + row if columns.kind_of(row) == "request" else columns.link[row]
    rounds = depth = 0
    earlier = above = number
    while rounds < 100 and (earlier := columns.follows.get(earlier, 0)):
        rounds += 1
    while depth < _DEEPEST and (above := columns.parents.get(above, 0)):
        depth += 1
    if rounds:
        return f"{glyphs().follows} round {rounds + 1} {name}"
    return f"{'  ' * (depth - 1)}{glyphs().under} {name}" if depth else name


def _about(recording: Recording, row: int, kind: str, width: int) -> str:
    """Tool, prompt or address; for a message without one, the text of the message."""
    columns, most = recording.columns, 2 * width + 40
    target = _text(columns, "target", row)
    telling = kind in ("notification", "error", "stderr", "stray", "note", "invalid") or (
        kind == "http" and columns.direction_of(row) == "out" and target
    )
    entry = recording.entry(columns.first + row) if telling and columns.size[row] <= _READ else None
    if entry is None:
        return safe(target, most)
    if kind in ("notification", "error"):
        return safe(": ".join(filter(None, (target, words_of(kind, entry.method, entry.body)))), most)
    first = beginning(entry.body, most).partition("\n")[0]
    # A sign-in request goes to another server than the row names.
    return safe(f"{target}: {first.partition(' ')[2]}" if kind == "http" else target or first, most)


def words_of(kind: str, method: str, body: bytes) -> str:
    """The text of a small notification or an error: foreign text, not yet safe; empty if it cannot be read."""
    if kind not in ("notification", "error") or len(body) > _READ:
        return ""
    try:
        message = mapping(loads(body))
    except (JsonProblem, LimitExceeded):
        return ""
    part = mapping(message.get("error" if kind == "error" else "params"))
    if method == "notifications/progress" and (known := read_progress(part)):
        return f"{progress_text(*known[:2])} {_value(known[2])}".rstrip()
    names = ("code", "message") if kind == "error" else _PARAMETERS.get(method, ())
    return " ".join(_value(part[name]) for name in names if name in part)


def _value(value: Json) -> str:
    text = value if isinstance(value, str) else printable(value, indent=None)
    return " ".join(text[:_LONGEST].split())


# The table

_FRAME = 1 / 15
"""Seconds between two refreshes while a query searches."""
_SLICE = 0.008
"""Seconds that a query may take per refresh."""


class TraceTable(CursorView):
    """One row for each entry of a recording, or for each entry that a query finds.

    The table follows the newest entry until the person scrolls or moves away; going to the end follows again. It draws
    from the columns, and only the rows on screen, however many entries there are. Rows stay in place while the oldest
    entries go.
    """

    search: Search | None = None
    """The matches of the present query; None without a query."""
    follows = True
    """Whether a recording is followed at first, as the person chose by key; scrolling away changes only `following`."""
    folds = True
    """Whether refreshes of lists are folded while there is no query."""
    _cells = widths_for(0)

    class Highlighted(Message):
        """The person moved the cursor to another entry."""

    class Opened(Message):
        """The person pressed enter or double-clicked on an entry."""

    class Looked(Message):
        """The table has taken over the present state of the recording."""

    def __init__(self, source: Recording, header: Static, *, empty: str = "") -> None:
        """`header` is the widget for the names of the columns."""
        super().__init__(empty=empty)
        self._header = header
        self._begin(source)

    def _begin(self, source: Recording) -> None:
        if self.search is not None:
            self.search.cancel()
        self._source = source
        self.search = None
        self._unfolded: array[int] = array("I")
        """The numbers of the entries that have a row while there is no query, ascending."""
        self._refresh = -_HEADS
        """The number of the last entry about lists, if a refresh of lists may go on after it."""
        self._first, self._total, self._revision = source.first_number, 0, -1
        self._at = 0
        """The number of the entry under the cursor."""
        self.following = self.follows
        """Whether the newest entry stays on screen."""

    def show(self, source: Recording) -> None:
        """Show another recording as a whole, from its end."""
        self._begin(source)
        self.look_at_store()

    # What it shows

    @property
    def row_count(self) -> int:
        """Rows at the time of the last refresh."""
        return len(self._numbers)

    @property
    def _numbers(self) -> Sequence[int]:
        """The numbers of the entries with a row of their own, ascending."""
        return self._unfolded if self.search is None else self.search.found

    @property
    def message(self) -> WireMessage | None:
        """The entry under the cursor; None if there is none, or if the recording has dropped it."""
        return self._source.entry(self._numbers[self.cursor]) if self.row_count else None

    def set_query(self, text: str, now: float | None = None) -> None:
        """Show only the entries that a query finds (see `trace.query`), all if it is empty. The cursor keeps its entry.

        Args:
            text: what a person wrote.
            now: the reference for times in the query; None for the present.

        Raises:
            QueryError: the text is no query; the rows stay as they were.
        """
        wanted = Search(self._source, parse(text, now)) if text.strip() else None
        if self.search is not None:
            self.search.cancel()
        self.search = wanted
        self.look_at_store()

    def _place(self, number: int) -> int:
        return bisect_left(self._numbers, number)

    # Folding

    def toggle_folds(self) -> None:
        self.folds = not self.folds
        self._unfolded, self._total, self._refresh = array("I"), 0, -_HEADS
        self.look_at_store()

    def _fold(self) -> None:
        """Give a row to each new entry that does not continue a refresh of lists: messages about lists, one after
        another. HTTP messages between two of them are folded with them.
        """
        columns, rows, first = self._source.columns, self._unfolded, self._source.columns.first
        lists = {columns.methods.get(name) for name in _LISTS}
        for number in range(max(first, self._total + 1), self._source.total + 1):
            row = number - first
            kind = columns.kind[row]
            about_lists = columns.method[row] in lists and kind in _PLAIN and not columns.flags[row] & bits.BY_HAND
            if about_lists and self.folds and number - self._refresh < _HEADS:
                del rows[bisect_right(rows, self._refresh) :]
            else:
                rows.append(number)
            if about_lists:
                self._refresh = number
            elif kind not in _HTTP or _text(columns, "method", row)[:1] in _FAILED:
                self._refresh = -_HEADS
        self._first, self._total = self._source.first_number, self._source.total
        del rows[: bisect_left(rows, self._first)]

    @property
    def folded(self) -> bool:
        """Whether some rows stand for several messages."""
        return self.search is None and self.row_count <= self._total - self._first

    @property
    def on_fold(self) -> bool:
        """Whether the row under the cursor stands for several messages."""
        return bool(self.row_count) and self._count(self.cursor) > 1

    def _count(self, index: int) -> int:
        """The number of messages that a row stands for."""
        if self.search is not None:
            return 1
        following = self._numbers[index + 1] if index + 1 < self.row_count else self._total + 1
        return following - self._numbers[index]

    def render_row(self, index: int, width: int, selected: bool) -> Line:
        columns, number = self._source.columns, self._numbers[index]
        row = number - columns.first
        if not 0 <= row < len(columns):
            return []
        if (count := self._count(index)) > 1:
            return draw_refreshes(self._source, row, count, self._cells)
        return draw(self._source, row, self._cells)

    # Looking at the store

    def on_mount(self) -> None:
        self._clock = self.set_interval(_FRAME, self.refresh_entries, pause=True)

    def on_unmount(self) -> None:
        if self.search is not None:
            self.search.cancel()

    def on_resize(self) -> None:
        self._cells = widths_for(self.row_width)
        self._header.update(header(self._cells), layout=False)
        self.look_at_store()
        super().on_resize()

    @property
    def _searching(self) -> bool:
        """Whether a search will find more rows even if no entry comes."""
        return self.search is not None and self.search.done < 1

    def refresh_entries(self) -> None:
        """Take over changes of the recording if the table is visible."""
        # Under a dialog, each change would repaint the whole screen.
        if self.region and self.screen.is_active and (self._searching or self._source.revision != self._revision):
            self.look_at_store()

    def look_at_store(self) -> None:
        """Take over new and dropped entries; the row that the person looks at stays in place, or else the end does."""
        source, height = self._source, self.size.height
        if self.top <= self.cursor < self.top + height or not self.row_count:
            number, above = self._at, self.cursor - self.top
        else:
            number, above = self._numbers[min(self.top, self.row_count - 1)], 0
        self._revision = source.revision
        self._fold()
        if self.search is not None:
            self.search.pull(_SLICE)
        (self._clock.resume if self._searching else self._clock.pause)()
        if self.following:
            self.rows_changed(self.row_count - height, cursor=self.row_count - 1)
            self._at = self._numbers[self.cursor] if self.row_count else 0
        else:
            self.rows_changed(self._place(number) - above, cursor=self._place(self._at))
        self.post_message(self.Looked())

    # What the person does

    def action_follow(self) -> None:
        self.following = self.follows = not self.following
        self.look_at_store()

    def action_last(self) -> None:
        self.following = True
        self.look_at_store()

    def go_to(self, number: int) -> bool:
        """Put the cursor on an entry and stop following; False if the query leaves the entry out, or it is gone."""
        self.look_at_store()
        if self.folded and self._first <= number <= self._total and not self._shows(number):
            self.toggle_folds()
        if not self._shows(number):
            return False
        self.move_to(self._place(number), center=True)
        self._at, self.following = number, False
        return True

    def _shows(self, number: int) -> bool:
        place = self._place(number)
        return 0 <= place < self.row_count and self._numbers[place] == number

    def row_highlighted(self, index: int) -> None:
        self._at, self.following = self._numbers[index], index == self.row_count - 1
        self.post_message(self.Highlighted())

    def row_chosen(self, index: int) -> None:
        self.post_message(self.Opened())

    def _turned(self) -> None:
        """Stop following when the person scrolls, unless that reaches the end."""
        self.following = False
        self.call_later(lambda: self.action_last() if self.top >= self.max_scroll_y else None)

    on_mouse_scroll_up = on_mouse_scroll_down = on_scroll_up = on_scroll_down = on_scroll_to = _turned
