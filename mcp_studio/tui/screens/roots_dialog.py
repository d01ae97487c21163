"""The roots of a server: folders, or other places, that it is told of when it asks (specification, client/roots)."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, cast
from urllib.parse import unquote, urlsplit

from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.widget import Widget
from textual.widgets import Input, Static

from mcp_studio.config.expand import effective_roots
from mcp_studio.config.model import Root
from mcp_studio.errors import StudioError
from mcp_studio.safetext import safe
from mcp_studio.tui.screens.dialog import Dialog
from mcp_studio.tui.server_files import keep_roots
from mcp_studio.tui.views.glyphs import glyphs

if TYPE_CHECKING:
    from mcp_studio.studio import Studio
    from mcp_studio.tui.app import StudioApp

_MOST = 50


class RootRow(Horizontal):
    """One root: a path or URI, and the name under which it is told."""

    def __init__(self, root: Root) -> None:
        uri = Input(root.uri, compact=True, placeholder="a folder, or file://…", classes="uri")
        super().__init__(uri, Input(root.name, compact=True, placeholder="name", classes="name"), classes="row root")

    @property
    def root(self) -> Root | None:
        """What stands there; None while it is empty."""
        uri, name = (field.value.strip() for field in self.query(Input))
        return Root(uri, name) if uri else None


class RootsDialog(Dialog[None], scope="roots"):
    """Edits them as they are written; what is sent stands below."""

    def __init__(self, studio: Studio, name: str) -> None:
        super().__init__()
        self._studio = studio
        self._name = name
        config = studio.manager.config(name)
        self._rows = Vertical(
            *(RootRow(root) for root in (*(config.written or config).roots, Root(""))), classes="rows"
        )
        self._sent = Static(classes="gap quiet")
        self._note = Static(classes="bad")

    def heading(self) -> Content:
        """Whose roots they are."""
        return Content(f"Roots of {safe(self._name, 60)}")

    def body(self) -> Iterable[Widget]:
        """A row for each root, and one more."""
        yield Static(Content(_about(self._studio, self._name)), classes="quiet")
        yield self._rows
        yield self._sent
        yield self._note

    def on_mount(self) -> None:
        """Begin with the first one."""
        self.query_one("#box").add_class("-wide")
        self.query(Input).first().focus()
        self._tell()

    def on_input_changed(self, event: Input.Changed) -> None:
        """The last row is always an empty one."""
        event.stop()
        self._tell()
        rows = list(self.query(RootRow))
        if rows and rows[-1].root is not None and len(rows) < _MOST:
            self._rows.mount(RootRow(Root("")))

    @property
    def roots(self) -> tuple[Root, ...]:
        """What is written there, without the empty ones."""
        return tuple(root for row in self.query(RootRow) if (root := row.root))

    def _tell(self) -> None:
        """What the server will get, and what is odd about it."""
        self._note.update(Content(""))
        try:
            sent = effective_roots(self.roots, self._studio.manager.config(self._name))
        except StudioError as problem:
            self._sent.update(Content(""))
            self._note.update(Content(safe(problem.message, 300)))
            return
        lines = [f"{safe(root.uri, 200)}{_odd(root)}" for root in sent[:8]]
        more = [f"and {len(sent) - 8} more"] if len(sent) > 8 else []
        self._sent.update(Content("\n".join(["It is told:", *lines, *more] if lines else ["It is told of no root."])))

    # Actions

    def action_add(self) -> None:
        """Go to the empty row."""
        self.query(RootRow).last().query(Input).first().focus()

    def action_remove(self) -> None:
        """Remove the row with the cursor."""
        row = next((row for row in self.query(RootRow) if row.has_focus_within), None)
        if row is not None and row is not self.query(RootRow).last():
            self.focus_next("Input.uri")
            row.remove()
            self.call_after_refresh(self._tell)

    def action_save(self) -> None:
        """Use them, and save them."""
        self.run_worker(self._save(self.roots), exclusive=True)

    async def _save(self, roots: tuple[Root, ...]) -> None:
        app = cast("StudioApp", self.app)
        try:
            said = await keep_roots(self._studio, self._name, roots)
        except StudioError as problem:
            self._note.update(Content(safe(f"{problem.message} {problem.hint}", 600)))
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
