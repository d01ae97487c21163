"""What a person notes on a message of the trace: a mark, and a few words."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from textual import on
from textual.content import Content
from textual.widget import Widget
from textual.widgets import Input, Static

from mcp_studio.errors import StudioError
from mcp_studio.safetext import safe
from mcp_studio.trace.message import MARKED, Recording, WireMessage
from mcp_studio.tui.app import StudioApp
from mcp_studio.tui.screens.dialog import Choice, Dialog

_LONGEST = 2_000


class Comment(Dialog[str]):
    """Answers the text, which is empty where the comment is to go; None when the person leaves it as it was."""

    DEFAULT_CSS = "Comment #body > Static { color: $quiet; margin-bottom: 1; }"
    choices = (Choice("save", "Save", "primary"), Choice("back", "Cancel"))

    def __init__(self, entry: WireMessage, text: str) -> None:
        super().__init__()
        self._entry = entry
        self._text = text

    def heading(self) -> str:
        return f"Comment on message {self._entry.number}"

    def body(self) -> Iterable[Widget]:
        yield Static(Content(name_of(self._entry)))
        yield Input(self._text, placeholder="What to remember of it", max_length=_LONGEST, compact=True)

    def on_mount(self) -> None:
        self.query_one(Input).focus()

    @on(Input.Submitted)
    def action_save(self) -> None:
        self.dismiss(self.query_one(Input).value.strip())


def name_of(entry: WireMessage) -> str:
    """A message in a few words: `tools/call create_issue · github`."""
    what = " ".join(filter(None, (entry.method or entry.kind, entry.target)))
    return f"{safe(what, 80)} · {safe(entry.server, 40)}"


def toggle_mark(app: StudioApp, recording: Recording, entry: WireMessage) -> None:
    """Mark a message, or no longer."""
    columns = recording.columns
    try:
        recording.mark(entry.number, not columns.flags[entry.number - columns.first] & MARKED)
    except StudioError as error:
        app.fail(error)


def edit_comment(app: StudioApp, recording: Recording, entry: WireMessage, done: Callable[[], None]) -> None:
    """Let the person comment on a message; then tell `done`."""

    def keep(text: str | None) -> None:
        if text is not None:
            try:
                recording.comment(entry.number, text)
            except StudioError as error:
                app.fail(error)
            done()

    app.push_screen(Comment(entry, recording.comment_on(entry.number)), keep)
