"""What copying and pasting calls needs, imported when it is first needed; see `late`."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from textual.screen import ModalScreen

    from mcp_studio.call.copying.formats import Copy
    from mcp_studio.call.copying.paste import Pasted
    from mcp_studio.call.copying.subject import Subject
    from mcp_studio.catalog.listing import Entry, Ref
    from mcp_studio.jsontext import Json
    from mcp_studio.protocol.events import RequestId
    from mcp_studio.studio import Studio
    from mcp_studio.trace.message import Recording
    from mcp_studio.tui.app import StudioApp
    from mcp_studio.tui.replaying import Shown
    from mcp_studio.tui.screens.copying import Copying, Last


OFFERED = 200_000
"""Characters of a pasted text that is looked at."""


def copy_dialog(studio: Studio, subject: Subject, last: Last | None) -> ModalScreen[None]:
    """In which form a call is copied."""
    from mcp_studio.tui.screens.copy_dialog import CopyDialog

    return CopyDialog(studio, subject, last)


def fill_dialog(copying: Copying, text: str) -> ModalScreen[tuple[Entry, Json]]:
    """Filling in a pasted call."""
    from mcp_studio.tui.screens.fill_dialog import FillDialog

    return FillDialog(copying, text)


def subject_of(studio: Studio, ref: Ref, value: Json, uri: str = "", task: bool = False) -> Subject:
    """A call that can be copied; see `call.copying.subject.subject_of`."""
    from mcp_studio.call.copying.subject import subject_of as make

    return make(studio.manager, studio.catalog, ref, value, uri=uri, task=task)


def copy_as(subject: Subject, form: str) -> Copy:
    """A call in a form; see `call.copying.formats.copy_as`."""
    from mcp_studio.call.copying.formats import copy_as as make

    return make(subject, form)


def number_of(recording: Recording, server: str, identity: RequestId | None) -> int:
    """See `call.replay.plan.number_of`."""
    from mcp_studio.call.replay.plan import number_of as find

    return find(recording, server, identity)


def offer_call(app: StudioApp, text: str) -> None:
    """Say so where a text that was pasted is a whole call, and keep it for the dialog that fills it in."""
    if len(text) > OFFERED or len(text) < 8:
        return
    pasted = called(text.encode("utf-8", "surrogatepass"))
    if pasted is not None and (pasted.name or "command" in pasted.form):
        app.main.calling.copying.offered = text
        app.say(f"This is a {pasted.says()}. {app.spell('paste-call')} fills the form from it.")


def copy_message(app: StudioApp, shown: Shown, *, choose: bool) -> None:
    """Copy a call of the trace."""
    from mcp_studio.tui.screens.copying import show_message

    show_message(app, shown, choose=choose)


def called(frame: bytes) -> Pasted | None:
    """The call that a request of ours made; None where it is none."""
    from mcp_studio.call.copying.paste import PasteProblem, read_paste

    try:
        return read_paste(frame.decode("utf-8", "replace"))
    except PasteProblem:
        return None
