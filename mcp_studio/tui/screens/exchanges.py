"""The HTTP exchanges of one step of signing in: what was sent, what came, with headers and bodies."""

from __future__ import annotations

from collections.abc import Iterable

from textual.content import Content
from textual.widget import Widget
from textual.widgets import Static

from mcp_studio.auth.model import AuthStep
from mcp_studio.present import units
from mcp_studio.safetext import safe
from mcp_studio.tui.screens.dialog import Choice, Dialog
from mcp_studio.tui.screens.sign_in_text import exchange_text
from mcp_studio.tui.views.find import Findable
from mcp_studio.tui.views.text_view import TextView


class Exchanges(Dialog[None]):
    """All of them as one text, the newest last."""

    DEFAULT_CLASSES = "-large"
    choices = (Choice("back", "Close"), Choice("copy", "Copy"))

    def __init__(self, step: AuthStep) -> None:
        super().__init__()
        self._step = step
        self._view = TextView()

    def heading(self) -> str:
        return f"{self._step.title}: {units.plural(len(self._step.exchanges), 'exchange')}"

    def body(self) -> Iterable[Widget]:
        if said := " ".join(filter(None, (self._step.detail, self._step.hint))):
            yield Static(Content(safe(said, 2_000)), classes="gap")
        yield Findable(self._view)

    def on_mount(self) -> None:
        self._view.show(exchange_text(self._step.exchanges))
        self._view.focus()

    def action_copy(self) -> None:
        self._view.copy()
