"""The line for typing a query of the trace: offers completions, and says what is wrong and where."""

import contextlib
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import ClassVar

from textual import on
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.widgets import Input, Static

from mcp_studio.safetext import safe
from mcp_studio.trace.message import KINDS, Recording
from mcp_studio.trace.query.parser import ALIASES, KEYS, QueryError, quoted
from mcp_studio.tui.views.rows import glyphs

_HINT = "words  server:  tool:  status:error  >500ms  since:10m  /regex/  not  or"
_MOST = 12
"""Suggestions at most; the screen cuts the line where it ends."""
_SAMPLE = 20_000
"""The newest entries, in which the line looks for values."""
_WORDS = {"error": "everything that failed", "marked": "what you marked", "not": "not what follows", "or": "one of two"}
_EXAMPLES = {
    "since": ("1m", "10m", "1h", "1d"), "until": ("1m", "10m", "1h", "1d"), "ms": (">100", ">1s", "<10"),
    "size": (">1KB", ">100KB", ">1MB"),
}  # fmt: skip
_METHODS = {
    "tool": ("tools/call",), "prompt": ("prompts/get",),
    "resource": ("resources/read", "resources/subscribe", "resources/unsubscribe"),
}  # fmt: skip
_SPECIAL = re.compile(r'[\s()"*]|^[=/<>]|^$')
_LAST_WORD = re.compile(r"[^\s()]*$")
_WORD = re.compile(r'(?:"(?:[^"\\]|\\.)*(?:"|$)|[^\s()"])+', re.S)
"""A run of quoted texts, the last of which may lack its end quote, and of other characters."""


# What could come next


def complete(text: str, cursor: int, recording: Recording) -> tuple[int, int, dict[str, str]]:
    """The start and the end of the word under the cursor, and its completions with their meanings, the likeliest first;
    quick enough for every key.

    Args:
        text: the typed text, which may be no valid query.
        cursor: the position in the text, 0 to its length.
        recording: the entries whose values are offered.
    """
    start = next((word.start() for word in _WORD.finditer(text, 0, cursor) if word.end() == cursor), cursor)
    start += text.startswith("-", start, cursor)
    following = re.match(r'[^\s()"]*', text[cursor:])
    end = cursor + (following.end() if following else 0)
    key, colon, beginning = text[start:cursor].partition(":")
    options: dict[str, str] = {}
    if colon:
        values = _values(ALIASES.get(key.lower(), key.lower()), beginning, recording)
        options = {f"{key}:{value}": "" for value in values}
    elif not key.startswith(("/", "<", ">", '"')):
        words = {**{f"{name}:": known.what for name, known in KEYS.items()}, **_WORDS}
        options = {word: what for word, what in words.items() if word.startswith(key.lower())}
    options.pop(text[start:end], None)
    return start, end, dict(islice(options.items(), _MOST))


def _values(key: str, beginning: str, recording: Recording) -> Iterator[str]:
    if key not in KEYS or beginning.startswith("/"):
        return
    fixed = KEYS[key].values or _EXAMPLES.get(key, ())
    wanted = beginning.strip('"').lower()
    matching = [value for value in fixed or _known(key, recording) if wanted in value.lower()]
    for value in sorted(matching, key=lambda value: not value.lower().startswith(wanted)):
        if fixed or not _SPECIAL.search(value):
            yield value
        elif safe(value, 2 * len(value)) == value:
            yield quoted(value)


def _known(key: str, recording: Recording) -> Iterable[str]:
    """Values of a key in the newest entries, the most frequent first."""
    columns = recording.columns
    if key == "server":
        return columns.servers.texts[2:]
    rows = slice(max(0, len(columns) - _SAMPLE), len(columns))
    seen = Counter(zip(columns.kind[rows], columns.method[rows], columns.target[rows], strict=True))
    found: Counter[str] = Counter()
    for (kind, method, target), count in seen.items():
        name = columns.methods.texts[method]
        if key == "method":
            found["" if KINDS[kind & 15] == "http" else name] += count
        elif key == "target" or name in _METHODS.get(key, ()):
            found[columns.targets.texts[target]] += count
    return [value for value, _ in found.most_common() if value]


# The line


class QueryLine(Vertical):
    """The field for a query, with a help line below it; hidden until `open`. Tab completes the word under the cursor.
    `Input.Submitted` passes on only if the query is valid.

    Args:
        use: applies a query; raises QueryError if the text is no query.
        source: returns the recording whose values are offered.
    """

    BINDINGS: ClassVar[list[BindingType]] = [Binding("tab", "complete", "Complete", show=False)]

    def __init__(self, use: Callable[[str], None], source: Callable[[], Recording]) -> None:
        super().__init__()
        self.field, self.aid = Input(placeholder=_HINT, compact=True), Static(id="aid", markup=False)
        """Mounted with their first use."""
        self._use, self._source = use, source
        self.problem: QueryError | None = None
        """The problem of the text; None if the text is a query."""

    def open(self) -> None:
        """Show the line, and put the focus there."""
        self._appear(True)
        self.screen.set_focus(self.field)  # at once: the keys typed next belong to the field

    def _appear(self, shown: bool) -> None:
        self.display = shown
        if shown and not self.field.is_attached:
            self.mount(self.field, self.aid)

    def put(self, text: str) -> None:
        """Show a query that the person did not type; an empty one ends the filter."""
        self._appear(bool(text))
        self.field.value = text
        self.field.cursor_position = len(text)

    @property
    def _offered(self) -> tuple[int, int, dict[str, str]]:
        return complete(self.field.value, self.field.cursor_position, self._source())

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Without a completion, tab goes to the next pane."""
        return action != "complete" or bool(self._offered[2])

    def action_complete(self) -> None:
        start, end, options = self._offered
        value, text = self.field.value, next(iter(options))
        if not text.endswith(":") and end == len(value):
            text += " "
        self.field.value = value[:start] + text + value[end:]
        self.field.cursor_position = start + len(text)

    @on(Input.Changed)
    def _changed(self, event: Input.Changed) -> None:
        """Apply the typed text, or what stands before its first wrong word."""
        event.stop()
        text, self.problem = event.value, None
        try:
            self._use(text)
        except QueryError as problem:
            self.problem = problem
            with contextlib.suppress(QueryError):
                self._use(_LAST_WORD.sub("", text[: problem.start]))
        self._help()

    @on(Input.Submitted)
    def _submitted(self, event: Input.Submitted) -> None:
        """Keep a text with a problem: enter does not leave it."""
        if self.problem is not None:
            event.stop()
            self._help(wrong=True)

    def on_descendant_focus(self) -> None:
        self.call_later(self._help)

    on_descendant_blur = on_descendant_focus

    def _help(self, wrong: bool = False) -> None:
        """Show completions, or the problem if it is before the word under the cursor."""
        problem, aid = self.problem, self.aid
        start, _, options = self._offered if self.field.has_focus else (0, 0, dict[str, str]())
        text = Content()
        if problem is not None and (wrong or not options or problem.end < start):
            message = f"{glyphs().bad} at {problem.start + 1}: {safe(problem.message, 200)}"
            text = Content.assemble((message, "$text-error"), (f" {safe(problem.hint, 200)}", "$quiet"))
        elif options:
            first, *others = options
            more = safe("  ".join(others) or options[first], 500)
            text = Content.assemble(("tab ", "$quiet"), (safe(first, 60), "bold"), (f"  {more}", "$quiet"))
        aid.display = bool(text.plain)
        aid.set_class(text.plain.startswith("tab "), "-offer")
        aid.update(text)
