"""One visit to the person's editor: the text goes there in a private file, and what comes back is read."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING

from mcp_studio.record import record
from mcp_studio.tui.aids import external
from mcp_studio.tui.aids.away import Ended, run_away
from mcp_studio.tui.aids.external import AT_ONCE, Editor, NoEditor
from mcp_studio.tui.screens.confirm import Confirm

if TYPE_CHECKING:
    from mcp_studio.tui.app import StudioApp


@record(frozen=True)
class Visit:
    """What is edited: its name, the ending of the file, and how it stands now."""

    name: str
    ending: str
    text: str
    secret: bool = False


EDITING = "editing outside"
"""The group of the app's workers that visit an editor. Of the app: those of a screen would end with it, maybe while
the app has no terminal."""


def busy(app: StudioApp) -> bool:
    """Whether an editor has the terminal already."""
    return any(worker.group == EDITING and not worker.is_finished for worker in app.workers)


async def visit(app: StudioApp, what: Visit) -> str | None:
    """Have a text edited in the person's editor; None where nothing is to be taken, which is told.

    The file is gone afterwards, unless it holds what was written and cannot be taken: then it is told where it is.
    """
    try:
        editor = external.find_editor(app.studio.config.settings.editor)
    except NoEditor as problem:
        app.fail(problem)
        return None
    if what.secret and not await _agreed(app, editor):
        return None
    try:
        file = await asyncio.to_thread(external.write_private, what.name, what.ending, what.text)
    except OSError as problem:
        app.say(f"There is no file to edit: {problem.strerror or problem}.", "error")
        return None
    keep = False
    try:
        ended = await run_away(app, (*editor.argv, str(file)))
        text = await asyncio.to_thread(external.read_back, file, app.studio.limits.field_file)
        text = external.without_last_break(what.text, text)
        keep = ended.code != 0 and text != what.text
        return _taken(app, editor, ended, what, text, file)
    except NoEditor as problem:
        keep = file.exists()
        app.fail(NoEditor(problem.message, hint=f"It is kept in {file}." if keep else ""))
    except OSError as problem:
        app.say(f"{editor.name} cannot be started: {problem.strerror or problem}.", "error")
    finally:
        if not keep:
            external.remove(file)
    return None


def _taken(app: StudioApp, editor: Editor, ended: Ended, what: Visit, text: str, file: Path) -> str | None:
    changed = text != what.text
    if ended.code != 0:
        why = f"with code {ended.code}" if ended.code > 0 else f"by signal {-ended.code}"
        kept = f" What was written is kept in {file}." if changed else ""
        app.say(f"{editor.name} ended {why}: the field is as it was.{kept}", "warning")
        return None
    if changed:
        return text
    if ended.seconds < AT_ONCE:
        waiting = editor.waits()
        how = f"`{waiting}`" if waiting else "the option that makes it wait"
        app.say(
            f"{editor.name} ended at once, and nothing was changed. One that opens a window has to wait until it is "
            f"closed: set `editor` in config.toml, $VISUAL or $EDITOR to {how}.",
            "warning",
        )
    return None


async def _agreed(app: StudioApp, editor: Editor) -> bool:
    question = f"This is a secret. {editor.name} gets it in a file that only you can read, and may keep copies of it."
    return bool(await app.push_screen_wait(Confirm("Edit a secret", question)))
