"""The whole value of a JSON editor in the person's own editor."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from mcp_studio.errors import LimitExceeded
from mcp_studio.jsontext import JsonProblem, loads, printable
from mcp_studio.tui.aids.hidden import holds_secret
from mcp_studio.tui.aids.visit import EDITING, Visit, busy, visit
from mcp_studio.tui.form.editing import LARGEST
from mcp_studio.tui.screens.confirm import Confirm

if TYPE_CHECKING:
    from mcp_studio.tui.app import StudioApp
    from mcp_studio.tui.form.json_editor import JsonEditor


def edit_outside(editor: JsonEditor) -> None:
    """Edit its text in the person's editor; text that is no JSON stands there afterwards with its problem."""
    app = cast("StudioApp", editor.app)
    if not busy(app):
        app.run_worker(_edit(app, editor), group=EDITING)


async def _edit(app: StudioApp, editor: JsonEditor) -> None:
    text: str | None = editor.text if editor.editable else printable(editor.value)
    while text is not None:
        after = await visit(app, Visit("value", "json", text, holds_secret(None, editor.value)))
        text = await _take(app, editor, after) if after is not None else None


async def _take(app: StudioApp, editor: JsonEditor, text: str) -> str | None:
    """Take over what was written; gives the text that is to be edited once more."""
    if not editor.is_attached:
        app.copy(text)
        app.say("The editor is no longer there: what was written is on the clipboard.", "warning")
        return None
    if len(text) <= LARGEST and editor.editable:
        editor.put_text(text)
        return None
    try:
        editor.put_value(loads(text, exact=True))
    except (JsonProblem, LimitExceeded) as problem:
        return text if await again(app, text, problem) else None
    return None


async def again(app: StudioApp, text: str, problem: ValueError | LimitExceeded) -> bool:
    """Ask whether text that is no JSON is to be edited once more; otherwise it goes to the clipboard."""
    question = f"What was written is no JSON: {problem}.\n\nEdit it again? Otherwise it goes to the clipboard."
    if await app.push_screen_wait(Confirm("No JSON", question)):
        return True
    app.copy(text)
    return False
