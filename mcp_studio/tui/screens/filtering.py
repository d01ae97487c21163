"""What the index finds for a filter of the catalog in which no name has all that was typed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcp_studio.catalog.ref import EntryKind
from mcp_studio.tui.screens.search_asking import Answer, Asker
from mcp_studio.tui.screens.search_question import Question
from mcp_studio.tui.screens.search_rows import words_in

if TYPE_CHECKING:
    from mcp_studio.tui.screens.main import MainScreen

MOST = 60
"""Entries that are shown of what is similar."""
_NAMED = ("name", "title", "uri")


class Filtering:
    """Asks with each letter as long as that is needed, and again when the index knows more."""

    def __init__(self, screen: MainScreen) -> None:
        self._screen = screen
        self._asker: Asker | None = None

    def ask(self, kind: EntryKind, text: str) -> None:
        """Ask for entries of a kind; with an empty text nothing is wanted any more."""
        if self._asker is None and text:
            screen = self._screen
            self._asker = Asker(screen.studio, lambda work: screen.run_worker(work, group="filter"), self._show)
        if self._asker is not None and text:
            self._asker.ask(Question(text, kind=kind), MOST)
        elif self._asker is not None:
            self._asker.close()
            self._asker = None

    def _show(self, answer: Answer) -> None:
        question, found = answer.question, answer.found
        if question.kind is None or not self._screen.is_attached:
            return
        hits = found.hits if found is not None else ()
        pieces = {hit.ref: words_in(hit.reasons, _NAMED) for hit in hits}
        whole = found is None or not found.pending
        self._screen.catalog.show_also(question.kind, question.text, pieces, whole=whole)
