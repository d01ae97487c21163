"""One exchange of a trace in tabs: timeline, request, response, HTTP, the server's output around it, findings."""

import time
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import NamedTuple

from rich.cells import cell_len
from textual import getters, on
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.message import Message
from textual.widgets import ContentSwitcher, Static

from mcp_studio.present import outcomes, units
from mcp_studio.safetext import safe
from mcp_studio.trace.message import MARKED, NEEDS_INPUT, PROBE, Columns, Recording, WireMessage
from mcp_studio.trace.store import TraceStore
from mcp_studio.trace.tree import PRINTED, Exchange, exchange_of, progress_of, tree, walk
from mcp_studio.tui.views.json_view import JsonView
from mcp_studio.tui.views.lines import TabLine
from mcp_studio.tui.views.rows import Findable, Piece, TextView, VirtualList, fit, glyphs, sign_of
from mcp_studio.tui.views.trace_table import NAMES, arrow, took_text, words_of

_MOST = 300
"""Rows of a timeline that are shown at most."""
_EVERY = 0.5
"""Seconds between two checks for news about the exchange."""
_LOOKS = {"ok": "ok", "open": "warn", "cancelled": "warn", "tool error": "bad", "error": "bad", "lost": "bad"}
_AT = 8
"""The cells for a moment in a timeline."""


# As text


def first_tab(entry: WireMessage) -> str:
    """The tab that says most about an entry."""
    if entry.kind in ("http", "stderr", "stray", "note"):
        return "http" if entry.kind == "http" else "output"
    return "response" if entry.kind in ("result", "error") and entry.span is not None else "request"


def title_of(columns: Columns, exchange: Exchange) -> str:
    """Method, target, server, the request's id, duration and outcome, as safe text."""
    request = exchange.request
    row = request.number - columns.first
    which, took, outcome = f"{request.kind} {request.number}", "", ""
    if request.kind == "request" and 0 <= row < len(columns):
        ms = columns.ms(row) if exchange.response is not None else None
        took = "" if ms is None else units.duration(ms)
        which, outcome = f"request {safe(request.id, 40)}", columns.outcome_of(row)
        outcome = "refused" if columns.flags[row] & PROBE and outcome == "error" else NAMES.get(outcome, outcome)
        outcome = "needs input" if columns.flags[row] & NEEDS_INPUT else outcome
    what = f"{safe(request.method, 80)} {safe(request.target, 80)}".strip()
    hand = "written by hand" if request.by_hand else ""
    return f" {glyphs().dot} ".join(filter(None, (what, safe(request.server, 40), which, hand, took, outcome)))


def heads_text(exchange: Exchange) -> str:
    """The HTTP messages as text."""
    ways = {"out": "sent", "in": "received", "none": ""}
    return "\n\n".join(f"{ways[one.direction]} {units.clock(one.time)}\n{_body(one)}" for one in exchange.heads)


def printed_text(exchange: Exchange) -> str:
    """Lines of stderr, unexpected lines on stdout, and lifecycle events as text."""
    return "\n".join(f"{units.clock(one.time)}  {one.kind:<6}  {_body(one)}" for one in exchange.printed)


def findings_text(exchange: Exchange) -> str:
    """The findings of the lint as text, the worst first, each with its place and the section of the specification."""
    return "\n".join(
        f"{sign_of(one.severity)[0]} {one.severity}: {safe(one.text, 500)}\n"
        f"  message {one.number} {safe(one.pointer, 200)}, rule {one.rule}, specification {one.section}\n"
        for one in exchange.findings
    )


def _body(entry: WireMessage) -> str:
    return entry.body.decode("utf-8", "replace")


# When everything happened


class Event(NamedTuple):
    """One row of a timeline."""

    number: int
    """The entry of the row; 0 for a remark about the row above."""
    label: str
    depth: int = 0
    direction: str = ""
    begin: float = 0.0
    """Seconds since the epoch."""
    end: float | None = None
    """None while the request is open."""
    note: str = ""
    outcome: str = ""
    here: bool = False
    """Whether the person opened the exchange at this entry."""


def timeline(recording: Recording, number: int) -> tuple[Event, ...]:
    """The events of everything that belongs together with a request, in the order of a tree."""
    found = list(islice(_events(recording, number), _MOST + 1))
    return tuple(found[:_MOST]) + ((Event(0, "and more"),) if len(found) > _MOST else ())


def _events(recording: Recording, here: int) -> Iterator[Event]:
    columns, family, rounds = recording.columns, tree(recording, here), 1
    for depth, node in walk(family) if family else ():
        entry = recording.entry(node.number)
        if entry is None:
            continue
        if node.relation in ("http", "note"):
            text = safe(entry.method if entry.kind == "http" else entry.body[:800].decode("utf-8", "replace"), 200)
            if entry.direction != "out":
                yield Event(node.number, text, depth, entry.direction, entry.time, entry.time)
            continue
        prefix = {"retry": "again", "task": "task"}.get(node.relation, "")
        if node.relation == "round":
            rounds += 1
            prefix = f"round {rounds}"
            yield from (Event(0, f"answered {text}", depth + 1) for text in outcomes.answers(entry))
        yield _request(columns, entry, depth, prefix, node.number == here)
        yield from _progress(recording, entry, depth + 1)
        answer = recording.entry(columns.link[node.number - columns.first])
        yield from (Event(0, f"asked {text}", depth + 1) for text in outcomes.questions(answer))


def _request(columns: Columns, entry: WireMessage, depth: int, prefix: str, here: bool) -> Event:
    label = " ".join(filter(None, (prefix, safe(entry.method or entry.kind, 80), safe(entry.target, 80))))
    end, note, outcome = entry.time, units.size(entry.size), ""
    if entry.kind == "request":
        row = entry.number - columns.first
        answer, outcome = columns.link[row] - columns.first, columns.outcome_of(row)
        end = columns.time[answer] if 0 < answer < len(columns) else None
        words = NAMES.get(outcome, outcome)
        note = words if end is None else f"{words} {took_text((end - entry.time) * 1000)}"
    return Event(entry.number, label, depth, entry.direction, entry.time, end, note, outcome, here)


def _progress(recording: Recording, entry: WireMessage, depth: int) -> Iterator[Event]:
    """The progress of a request of ours as one row."""
    if ours := progress_of(recording, entry):
        first, newest = ours[0], ours[-1]
        note = safe(words_of("notification", newest.method, newest.body), 80)
        yield Event(newest.number, "progress", depth, "in", first.time, newest.time, note)


class Drawing:
    """Draws the rows of one timeline, and the scale above them as row `None`.

    Args:
        now: the time up to which open requests are drawn.
    """

    def __init__(self, events: tuple[Event, ...], now: float = 0.0) -> None:
        times = [time for event in events if event.number for time in (event.begin, event.end) if time]
        self.begin, self.end = (min(times), max(times)) if times else (0.0, 0.0)
        if any(event.end is None and event.number for event in events):
            self.end = max(self.end, now)

    def draw(self, event: Event | None, width: int) -> list[Piece]:
        """Draw an event, or the scale: label, time, outcome, and a bar on the scale."""
        label = min(44, max(14, width * 2 // 5))
        note = 17 if width >= 70 else 0
        room = max(4, width - label - _AT - note - 3)
        if event is None:
            head = fit(f"  {units.clock(self.begin)}", label + _AT + note + 2)
            return [(head, "dim"), (self._scale(room), "dim")]
        if not event.number:
            return [(fit(" " * (2 + 2 * event.depth) + event.label, width), "dim")]
        look = _LOOKS.get(event.outcome, "accent")
        text = fit("  " * min(event.depth, 6) + event.label, label - 2)
        at = took_text((event.begin - self.begin) * 1000)
        return [
            arrow(event.direction), (f" {text}", "strong" if event.here else ""), (f"{at:>{_AT}}  ", "dim"),
            (fit(fit(event.note, note - 1), note), look if event.outcome else "dim"), *self._bar(event, room, look),
        ]  # fmt: skip

    def _scale(self, room: int) -> str:
        if self.end <= self.begin:
            return ""
        signs, whole = glyphs(), f" {took_text((self.end - self.begin) * 1000)} "
        return f"{signs.begin}{signs.line * max(0, room - 2 - cell_len(whole))}{whole}{signs.end}"

    def _bar(self, event: Event, room: int, look: str) -> list[Piece]:
        signs = glyphs()
        first, last = self._place(event.begin, room), self._place(event.end or self.end, room)
        end = signs.end if event.end is not None else signs.more
        bar = signs.begin + signs.line * (last - first - 1) + end if last > first else signs.bar
        return [(" " * first, ""), (bar, look)]

    def _place(self, time: float, room: int) -> int:
        whole = self.end - self.begin
        share = (time - self.begin) / whole if whole > 0 else 0.0
        return max(0, min(room - 1, int(share * (room - 1) + 0.5)))


# On the screen

_TEXTS = {"http": heads_text, "output": printed_text, "findings": findings_text}
_EMPTY = {
    "request": "The message has no body.", "response": "There is no response.",
    "http": "The message did not go over HTTP.", "output": "The server printed nothing around that time.",
    "findings": "The lint found nothing wrong.",
}  # fmt: skip
_TABS = {
    "when": "Timeline", "request": "Request", "response": "Response", "http": "HTTP", "output": "Output",
    "findings": "Findings",
}  # fmt: skip
_VIEWS = {"when": "timeline", "request": "body", "response": "body"}
_HINT = "The exchange under the cursor appears here: timeline, request, response, findings."


class ExchangeView(Vertical):
    """Shows one exchange, and checks from time to time whether something new belongs to it."""

    tabs = getters.query_one(TabLine)
    switcher = getters.query_one(ContentSwitcher)

    @dataclass
    class Went(Message):
        """The person chose another entry of the exchange."""

        number: int

    def __init__(self) -> None:
        super().__init__()
        self._drawing = Drawing(())
        self.events = VirtualList[Event | None](
            lambda event, width, _: self._drawing.draw(event, width),
            key=lambda event: event and event.number, id="timeline",
        )  # fmt: skip
        self.json = JsonView()
        self.text = TextView()
        self.recording: Recording | None = None
        self.entry: WireMessage | None = None
        self._revision = -1
        self._filled: object = None
        """What the visible viewer shows; folds and position stay while this is the same."""

    def compose(self) -> ComposeResult:
        yield Static(id="head", markup=False)
        yield TabLine(_TABS)
        with ContentSwitcher(initial="hint"):
            yield Static(_HINT, id="hint", markup=False)
            yield self.events
            yield Findable(self.json, id="body")
            yield Findable(self.text, id="text")

    def on_mount(self) -> None:
        self.tabs.display = False
        self.set_interval(_EVERY, self._look)

    def show(self, recording: Recording, entry: WireMessage) -> None:
        """Show the exchange of another entry, in the tab that suits the entry unless the person chose another tab."""
        self.tabs.show(_TABS)  # those without the tab, as for a line of output, cannot activate it
        if self.entry is None or self.tabs.active == first_tab(self.entry):
            self.tabs.active = first_tab(entry)
        self.tabs.display = True
        self.recording, self.entry = recording, entry
        self.refill()

    def clear(self) -> None:
        self.recording = self.entry = None
        self.tabs.display = False
        self.query_one("#head", Static).update()
        self.switcher.current = "hint"

    @property
    def view(self) -> VirtualList[Event | None] | JsonView | TextView:
        """The viewer on screen."""
        return {"timeline": self.events, "body": self.json}.get(_VIEWS.get(self.tabs.active, ""), self.text)

    def copy(self) -> None:
        """Copy the value under the cursor, the text, or the message of the timeline's row."""
        if not isinstance(self.view, VirtualList):
            self.view.copy()
        elif self.recording is not None and self.events.row and (entry := self.recording.entry(self.events.row.number)):
            self.app.copy_to_clipboard(_body(entry))

    def _look(self) -> None:
        """Fill the view again if there is news, such as the answer or a finding."""
        if self.region and self.recording is not None and self.recording.revision != self._revision:
            self.refill()

    # Filling what is seen

    @on(TabLine.Activated)
    def refill(self) -> None:
        """Fill the visible tab with the exchange in its present state."""
        recording, entry, tab = self.recording, self.entry, self.tabs.active
        if recording is None or entry is None:
            return
        self._revision = recording.revision
        exchange, had_focus = exchange_of(recording, entry), self.switcher.has_focus_within
        self._fill_head(recording, exchange)
        self.switcher.current = _VIEWS.get(tab, "text")
        if tab == "when":
            self._fill_timeline(recording, exchange.request)
        elif tab in _TEXTS:
            text = _TEXTS[tab](exchange)
            if self._is_new(tab, text):
                self.text.empty = _EMPTY[tab]
                self.text.show(text)
        else:
            entry = exchange.request if tab == "request" else exchange.response
            here = entry and (entry.number, isinstance(entry.held, bytes), len(entry.findings))
            if self._is_new(tab, here):
                self.json.empty = f"Loading {glyphs().more}"
                self.json.show(b"")
                self.run_worker(self._load_body(tab, entry), group="body", exclusive=True)
        if had_focus:
            self.view.focus()

    def _is_new(self, *what: object) -> bool:
        known, self._filled = self._filled, (*what, id(self.recording))
        return known != self._filled

    def _fill_head(self, recording: Recording, exchange: Exchange) -> None:
        """Show title, comments and the worst finding; and the counts in the tabs."""
        columns, found, signs = recording.columns, exchange.findings, glyphs()
        ends = [end for end in (exchange.request, exchange.response) if end and end.number >= columns.first]
        marked = any(columns.flags[end.number - columns.first] & MARKED for end in ends)
        lines = [Content.styled(f"{signs.marked} " * marked + title_of(columns, exchange), "bold")]
        comments = filter(None, (recording.comment_on(end.number) for end in ends))
        lines += [Content.styled(f"{signs.said} {safe(comment, 500)}", "$accent") for comment in comments]
        if found:
            more = f" (+{len(found) - 1})" if len(found) > 1 else ""
            lines.append(Content.styled(f"{sign_of(found[0].severity)[0]} {safe(found[0].text, 200)}{more}", "$quiet"))
        self.query_one("#head", Static).update(Content("\n").join(lines))
        counts = {"http": len(exchange.heads), "output": len(exchange.printed), "findings": len(found)}
        labels = {name: f"{_TABS[name]} {count or ''}".rstrip() for name, count in counts.items()}
        labels["request"] = "Request" if exchange.request.kind == "request" else "Message"
        empty = ("when", "response", "http") if exchange.request.kind in PRINTED else ()
        self.tabs.show({name: label for name, label in {**_TABS, **labels}.items() if name not in empty})

    def _fill_timeline(self, recording: Recording, request: WireMessage) -> None:
        events = timeline(recording, request.number)
        self._drawing = Drawing(events, time.time() if isinstance(recording, TraceStore) else 0.0)
        other = self._is_new("when", request.number)
        self.events.show((None, *events), keep=not other)
        if other:
            self.events.go_to(request.number)

    @on(VirtualList.Chosen)
    def _chosen(self, event: VirtualList.Chosen) -> None:
        event.stop()
        if event.row is not None and event.row.number:
            self.post_message(self.Went(event.row.number))

    async def _load_body(self, tab: str, entry: WireMessage | None) -> None:
        """Show a body in the background: a large one is on disk, or still being redacted."""
        body, marks = b"", dict[str, str]()
        if entry is not None and self.recording is not None:
            body = await self.recording.body(entry)
            marks = {one.pointer: f"{sign_of(one.severity)[0]} {one.text}" for one in entry.findings if one.pointer}
        self.json.empty = _EMPTY[tab]
        self.json.show(body, marks)
