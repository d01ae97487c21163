"""What the index finds for a filter of the catalog in which no name has all that was typed."""

from __future__ import annotations

from collections.abc import Coroutine, Iterator
from typing import TYPE_CHECKING, Any

from mcp_studio.catalog.listing import EntryKind, Ref
from mcp_studio.search.method import Hit
from mcp_studio.tui.screens.search_asking import Answer, Asker
from mcp_studio.tui.screens.search_question import Question
from mcp_studio.tui.screens.search_rows import words_in

if TYPE_CHECKING:
    from mcp_studio.tui.screens.main import MainScreen

MOST = 60
"""Entries that are shown of what is similar."""
METHODS = ("substring", "auto")
"""Names that are nearly right are what somebody means who types a name; what words and meaning find comes below."""
_NAMED = ("name", "title", "uri")


class Filtering:
    """Asks with each letter as long as that is needed, and again when the index knows more."""

    def __init__(self, screen: MainScreen) -> None:
        self._screen = screen
        self._askers: dict[str, Asker] = {}
        self._answers: dict[str, Answer] = {}

    def ask(self, kind: EntryKind, text: str) -> None:
        """Ask for entries of a kind; with an empty text nothing is wanted any more."""
        if not text:
            for asker in self._askers.values():
                asker.close()
            self._askers, self._answers = {}, {}
            return
        for method in METHODS:
            if method not in self._askers:
                self._askers[method] = Asker(self._screen.studio, self._work, self._show)
            self._askers[method].ask(Question(text, method, kind=kind), MOST)

    def _work(self, work: Coroutine[Any, Any, None]) -> None:
        if self._screen.is_attached:
            self._screen.run_worker(work, group="filter")
        else:  # the index had something to tell after the screen had gone
            work.close()

    def _show(self, answer: Answer) -> None:
        """Show what is known by now: names do not wait for the rest, and the rest comes below them."""
        question, kind = answer.question, answer.question.kind
        self._answers[question.method] = answer
        known = [self._answers.get(method) for method in METHODS]
        asked = (question.text, kind)
        same = [one for one in known if one is not None and (one.question.text, one.question.kind) == asked]
        if kind is None or not self._screen.is_attached or known[0] not in same:
            return
        whole = len(same) == len(METHODS) and not any(one.found is not None and one.found.pending for one in same)
        pieces: dict[Ref, tuple[str, ...]] = {}
        for hit in (hit for one in same for hit in _hits(one)):
            pieces.setdefault(hit.ref, words_in(hit.reasons, _NAMED))
        self._screen.catalog.show_also(kind, question.text, pieces, whole=whole)


def _hits(answer: Answer) -> Iterator[Hit]:
    return iter(answer.found.hits if answer.found is not None else ())
