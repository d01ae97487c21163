"""Sending messages of a trace once more: one, edited or as it was, or many."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from mcp_studio.call.replay.plan import CALLS, Plan, Step, load, step_of
from mcp_studio.call.replay.runner import ReplayOptions
from mcp_studio.catalog.listing import Entry, EntryKind
from mcp_studio.errors import StudioError
from mcp_studio.jsontext import Json
from mcp_studio.safetext import safe
from mcp_studio.schema.place import Path, remove
from mcp_studio.trace.diff import path_text
from mcp_studio.trace.message import UNTIMED
from mcp_studio.tui import late
from mcp_studio.tui.replaying import Shown
from mcp_studio.tui.screens.replay import Order, ReplayDialog
from mcp_studio.tui.screens.replay_choice import ReplayChoice

if TYPE_CHECKING:
    from mcp_studio.trace.message import Recording
    from mcp_studio.tui.app import StudioApp

_KINDS: dict[str, EntryKind] = {"tools/call": "tool", "prompts/get": "prompt", "resources/read": "resource"}


def edit(app: StudioApp, shown: Shown) -> None:
    """Open what was called, filled in as it was sent; what is no such call goes to the console."""
    step = step_of(shown.recording.columns, shown.entry.number) if shown.entry is not None else None
    if step is None or step.method not in CALLS:
        late.edit_by_hand(app, shown.entry)
    else:
        app.main.run_worker(_edit(app, shown.recording, step), group="open", exclusive=True)


def now(app: StudioApp, shown: Shown) -> None:
    """Send one request as it was, and show how the answers differ."""
    step = step_of(shown.recording.columns, shown.entry.number) if shown.entry is not None else None
    if step is None:
        app.say("This belongs to no request of ours: there is nothing to send again.", "warning")
        return
    if step.method in UNTIMED:
        app.say(f"{step.method} is sent whenever the server is connected.", "warning")
        return
    server = _server(app, step)
    if not server:
        app.say(f"{safe(step.server, 60)} is not connected; {app.spell('trace-replay-many')} chooses another server.")
        return
    order = Order(shown.recording, Plan((step,)), {step.server: server}, ReplayOptions(origin="person"))
    app.push_screen(ReplayDialog(order))


def many(app: StudioApp, shown: Shown) -> None:
    """Choose what is sent once more, and where."""

    def chosen(order: Order | None) -> None:
        if order is not None:
            app.push_screen(ReplayDialog(order))

    app.push_screen(ReplayChoice(app.studio, shown), chosen)


def _server(app: StudioApp, step: Step) -> str:
    manager = app.studio.manager
    known = step.server in manager.names() and manager.status(step.server).state not in ("disabled", "failed")
    return step.server if known else ""


async def _edit(app: StudioApp, recording: Recording, step: Step) -> None:
    try:
        recorded = await load(recording, step)
    except StudioError as error:
        app.say(f"It cannot be filled in: {safe(error.message, 200)}.", "warning")
        return
    name = recorded.params.get("uri" if step.method == "resources/read" else "name")
    entry = _listed(app, _KINDS[step.method], step.server, name)
    if entry is None:
        app.say(f"No server that is connected lists {safe(name, 80)}; {app.spell('trace-by-hand')} edits its text.")
        return
    value: Json = recorded.params.get("arguments", {})
    hidden: list[Path] = [place[1:] for place in recorded.hidden if place[:1] == ("arguments",)]
    for place in reversed(hidden):
        value = remove(value, place) if place else {}
    await app.main.calling.open(entry, go=True)
    body = app.main.call.body
    if body is not None and isinstance(value, dict) and step.method != "resources/read":
        body.fill(cast("Json", value))
    while app.screen is not app.main and len(app.screen_stack) > 1:
        await app.screen.dismiss(None)  # whoever waits for its answer hears that there is none
    app.main.go_to(app.main.call)
    app.say(_told(entry, hidden))


def _told(entry: Entry, hidden: list[Path]) -> str:
    names = ", ".join(safe(path_text(place), 60) for place in hidden[:3])
    missing = f" Not in the recording, being secret: {names}." if hidden else ""
    return f"{safe(entry.ref, 80)} is filled in as it was sent.{missing}"


def _listed(app: StudioApp, kind: EntryKind, server: str, name: Json) -> Entry | None:
    """The entry of the same server, else of any other."""
    entries = [entry for entry in app.studio.catalog.entries(kind) if entry.ref.name == name]
    entries.sort(key=lambda entry: entry.ref.server != server)
    return entries[0] if entries else None
