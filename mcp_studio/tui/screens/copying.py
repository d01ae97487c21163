"""Copying calls as something else, and filling the form from what was pasted."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from mcp_studio.catalog.listing import Entry, EntryKind, Ref
from mcp_studio.jsontext import Json
from mcp_studio.safetext import safe
from mcp_studio.tui import late, late_copy

if TYPE_CHECKING:
    from mcp_studio.call.copying.paste import Pasted
    from mcp_studio.call.copying.subject import Subject
    from mcp_studio.trace.message import Recording, WireMessage
    from mcp_studio.tui.app import StudioApp
    from mcp_studio.tui.opened import Opened
    from mcp_studio.tui.replaying import Shown
    from mcp_studio.tui.screens.main import MainScreen

Last = tuple["Recording", int]
"""A recording, and the number of an entry of the call in it; 0 for none."""
_KINDS: dict[str, tuple[EntryKind, ...]] = {
    "tool": ("tool",), "prompt": ("prompt",), "resource": ("resource", "template"), "": ("tool", "prompt"),
}  # fmt: skip


class Copying:
    """What is open, or an entry of the catalog, as text; and the way back."""

    def __init__(self, screen: MainScreen) -> None:
        self._screen = screen
        self._studio = screen.studio
        self.offered = ""
        """A call that was pasted somewhere else than into the dialog for it."""

    def wanted(self, what: str, entry: Entry | None = None) -> None:
        """`name`, `command`, `as` or `paste`, of an entry or of what is open."""
        app = self._screen.studio_app
        if what == "paste":
            text, self.offered = self.offered or app.clipboard, ""
            app.push_screen(late_copy.fill_dialog(self, text), self._filled)
        elif what == "name" and entry is not None:
            app.copy(entry.ref.name, name=True)
        elif (subject := self._subject(entry)) is not None:
            show(app, subject, choose=what == "as", last=self._last(subject))

    def _last(self, subject: Subject) -> Last | None:
        """Where the trace has this call, if what is open was called with what stands there."""
        call = self._screen.calling.call
        if call is None or call.ref != subject.ref:
            return None
        wanted = {key: part for key, part in subject.params.items() if key != "task"}
        if any((call.params.get(key) or {}) != part for key, part in wanted.items()):
            return None
        return self._studio.trace, late_copy.number_of(self._studio.trace, call.ref.server, call.request)

    def _subject(self, entry: Entry | None) -> Subject | None:
        """The call that would be made; None where there is none, which is told."""
        opened, app = self._screen.calling.opened, self._screen.studio_app
        if entry is not None and (opened is None or opened.entry.ref != entry.ref):
            opened = late.open_entry(entry)
        if opened is None:
            app.say("Nothing is open yet.", "warning")
            return None
        kind = opened.entry.ref.kind
        try:
            uri = opened.uri() if kind in ("resource", "template") else ""
        except ValueError as problem:
            app.say(f"The URI cannot be made: {problem}.", "warning")
            return None
        value: Json = opened.words() if kind == "prompt" else opened.value
        return late_copy.subject_of(self._studio, opened.entry.ref, value, uri, opened.as_task)

    # Back

    @property
    def opened(self) -> Opened | None:
        """What is open."""
        return self._screen.calling.opened

    def target(self, pasted: Pasted) -> Entry | None:
        """The entry that a pasted call is about: what is open where it fits, else what is listed."""
        opened = self.opened
        if opened is not None and pasted.names(opened.entry.ref):
            return opened.entry
        if not pasted.name:
            return None
        found = [
            entry
            for kind in _KINDS[pasted.kind]
            for entry in self._studio.catalog.entries(kind)
            if entry.ref.name == pasted.name
        ]
        best = pasted.server or (opened.entry.ref.server if opened is not None else "")
        found.sort(key=lambda entry: (entry.ref.server != best, not self._at(entry, pasted.url)))
        return found[0] if found else None

    def _at(self, entry: Entry, url: str) -> bool:
        server = entry.ref.server
        return bool(url) and server in self._studio.manager.names() and self._studio.manager.config(server).url == url

    def opening(self, entry: Entry) -> Opened:
        """An entry with its form: the one that is open, or another."""
        opened = self.opened
        return opened if opened is not None and opened.entry.ref == entry.ref else late.open_entry(entry)

    def _filled(self, filled: tuple[Entry, Json] | None) -> None:
        if filled is not None:
            self._screen.run_worker(self._fill(*filled), group="open", exclusive=True)

    async def _fill(self, entry: Entry, value: Json) -> None:
        calling, call = self._screen.calling, self._screen.call
        if self.opened is None or self.opened.entry.ref != entry.ref:
            await calling.open(entry, go=True)
        if call.body is not None:
            call.body.fill(value)
            self._screen.go_to(call)
        self._screen.studio_app.say(f"{safe(entry.ref)} is filled in.")


def show(app: StudioApp, subject: Subject, *, choose: bool, last: Last | None = None) -> None:
    """Copy a call as a command line, or let the person choose the form.

    Args:
        last: where it is recorded, if it is.
    """
    if choose:
        app.push_screen(late_copy.copy_dialog(app.studio, subject, last))
        return
    made = late_copy.copy_as(subject, "command")
    if made.why_not:
        app.say(made.why_not, "warning")
        return
    app.copy(made.text)
    for remark in made.remarks:
        app.say(remark)


def show_message(app: StudioApp, shown: Shown, *, choose: bool) -> None:
    """The same of a call in a trace, told by any message of its exchange."""
    entry = shown.entry
    subject = _of_message(app, entry) if entry is not None else None
    if subject is None:
        app.say("This is no call of a tool, prompt or resource.", "warning")
    elif entry is not None:
        show(app, subject, choose=choose, last=(shown.recording, entry.number))


def _of_message(app: StudioApp, entry: WireMessage) -> Subject | None:
    request = entry.span.request if entry.span is not None else entry
    pasted = late_copy.called(request.body) if request.direction == "out" else None
    if pasted is None or not pasted.kind or not pasted.name:
        return None
    ref = Ref(cast("EntryKind", pasted.kind), request.server, pasted.name)
    resource = pasted.kind == "resource"
    value = None if resource else dict(pasted.arguments)
    found = late_copy.subject_of(app.studio, ref, value, ref.name if resource else "", b'"task"' in request.body)
    return found
