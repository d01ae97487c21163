"""The roots of a server: folders, or other places, that it is told of when it asks (specification, client/roots)."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, cast
from urllib.parse import unquote, urlsplit

from textual.content import Content
from textual.widget import Widget
from textual.widgets import Static

from mcp_studio.config.expand import effective_roots
from mcp_studio.config.model import Root
from mcp_studio.errors import ConfigError, StudioError
from mcp_studio.safetext import safe
from mcp_studio.schema.field import SchemaProblem
from mcp_studio.tui.entering import pointer_of
from mcp_studio.tui.entry import roots_of, roots_value
from mcp_studio.tui.form.form_view import FormView
from mcp_studio.tui.screens.dialog import Dialog
from mcp_studio.tui.server_files import keep_roots
from mcp_studio.tui.server_form import roots_form
from mcp_studio.tui.views.glyphs import glyphs

if TYPE_CHECKING:
    from mcp_studio.studio import Studio
    from mcp_studio.tui.app import StudioApp


class RootsDialog(Dialog[None], scope="roots"):
    """Edits them as they are written; what is sent stands below."""

    def __init__(self, studio: Studio, name: str) -> None:
        super().__init__()
        self._studio = studio
        self._name = name
        config = studio.manager.config(name)
        self.form = FormView(roots_form(), roots_value((config.written or config).roots), sends=False)
        self._sent = Static(classes="gap quiet")
        self._note = Static(classes="bad")

    def heading(self) -> Content:
        """Whose roots they are."""
        return Content(f"Roots of {safe(self._name, 60)}")

    def body(self) -> Iterable[Widget]:
        """The roots, and what the server makes of them."""
        yield Static(Content(_about(self._studio, self._name)), classes="quiet")
        yield self.form
        yield self._sent
        yield self._note

    def on_mount(self) -> None:
        """Begin with the first one."""
        self.query_one("#box").add_class("-wide")
        if not self.form.focus_field("/roots/0/uri") or not self.form.get_at(("roots", 0)):
            self.action_add()
        self._tell()

    def on_form_view_changed(self, event: FormView.Changed) -> None:
        """Tell what the server gets."""
        event.stop()
        self._tell()

    def _tell(self) -> None:
        """What the server will get, and what is odd about it."""
        self._note.update(Content(""))
        try:
            sent = effective_roots(roots_of(self.form.value), self._studio.manager.config(self._name))
        except StudioError as problem:
            self._sent.update(Content(""))
            self._note.update(Content(safe(problem.message, 300)))
            return
        lines = [f"{safe(root.uri, 200)}{_odd(root)}" for root in sent[:8]]
        more = [f"and {len(sent) - 8} more"] if len(sent) > 8 else []
        self._sent.update(Content("\n".join(["It is told:", *lines, *more] if lines else ["It is told of no root."])))

    # Actions

    def action_add(self) -> None:
        """Begin one more."""
        self.form.action_add_row()

    def action_remove(self) -> None:
        """Remove the one with the cursor."""
        self.form.action_remove_row()

    def action_save(self) -> None:
        """Use them, and save them."""
        try:
            roots = roots_of(self.form.value)
        except ConfigError as problem:
            self._show(problem)
        else:
            self.run_worker(self._save(roots), exclusive=True)

    def _show(self, problem: StudioError) -> None:
        key = problem.key if isinstance(problem, ConfigError) else ""
        if key:
            self.form.show_problems([SchemaProblem(pointer_of(key), problem.message)])
            self.form.focus_field(pointer_of(key))
        self._note.update(Content(safe(f"{problem.message} {problem.hint}", 600)))

    async def _save(self, roots: tuple[Root, ...]) -> None:
        app = cast("StudioApp", self.app)
        try:
            said = await keep_roots(self._studio, self._name, roots)
        except StudioError as problem:
            self._show(problem)
            return
        app.say(said)
        self.dismiss(None)

    def action_back(self) -> None:
        """Leave without saving."""
        self.dismiss(None)


def _about(studio: Studio, name: str) -> str:
    manager = studio.manager
    capabilities = manager.config(name).capabilities
    if isinstance(capabilities, dict) and "roots" not in capabilities:
        return "Its entry declares capabilities without roots: it is not answered when it asks for them."
    if manager.status(name).modern:
        return "It asks for them during a call (2026-07-28); it is not told when they change."
    return "It is told at once that they have changed, and may ask for them."


def _odd(root: Root) -> str:
    parts = urlsplit(root.uri)
    if parts.scheme != "file":
        return f"  {glyphs().warning} the protocol knows file:// roots only"
    if parts.netloc in ("", "localhost") and not Path(unquote(parts.path)).exists():
        return f"  {glyphs().warning} is not there"
    return ""
