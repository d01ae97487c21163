"""Searching everything that servers offer, as one types."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING

from textual.widgets import Input

from mcp_studio.safetext import safe
from mcp_studio.search.method import Found, Hit
from mcp_studio.tui import late
from mcp_studio.tui.screens import search_words
from mcp_studio.tui.screens.search_asking import FEW, MANY, Answer
from mcp_studio.tui.screens.search_box import Chosen, SearchBox
from mcp_studio.tui.screens.search_line import SearchLine
from mcp_studio.tui.screens.search_question import Question, next_kind
from mcp_studio.tui.screens.search_rows import rows_of
from mcp_studio.tui.screens.search_servers import SearchServers
from mcp_studio.tui.views.virtual_list import VirtualList

if TYPE_CHECKING:
    from mcp_studio.studio import Studio
    from mcp_studio.tui.screens.search_acts import Searching

_PATIENCE = 5.0
"""Seconds for which what is pressed before there is an answer waits until all entries are taken up."""
_GLANCE = 0.4
"""Seconds after which an answer counts as seen."""
_NEAR = 10
"""Rows before the last one: when the cursor comes there, more are asked for."""


class SearchPalette(SearchBox):
    """Answers a hit, and what is to be done with it.

    Args:
        kept: the question of before, and where the one of now is kept.
    """

    def __init__(self, studio: Studio, kept: Searching) -> None:
        super().__init__(studio, kept)
        self._then = ""
        """What is to be done once the answer to what is typed has come."""
        self._meant = ""
        """What was typed for that."""
        self._until = self._since = 0.0
        """How long that may wait, and since when there is an answer to the question."""

    def on_mount(self) -> None:
        """Ask what was asked before; typing replaces it."""
        self.set_focus(self._input)
        self._input.select_all()
        self._hits.empty = "Looking …"
        self._draw_line()
        self._ask(self._question)
        self.run_worker(self._learn(), group="ways")

    async def _learn(self) -> None:
        """Plug-ins, and what is missing, are looked for beside the loop."""
        index = await self._asker.open()
        await asyncio.to_thread(index.all_methods)
        self._draw_line()

    def on_unmount(self) -> None:
        """Hear nothing any more."""
        self._asker.close()

    # Asking

    def _ask(self, question: Question) -> None:
        """Ask another question, and keep it."""
        self._question = self._kept.question = question
        self._draw_line()
        # What can be seen is asked for first: reasons are looked for in each hit, which costs the most.
        self._asker.ask(question, self._hits.size.height + 1 if self._hits.size.height else FEW)

    def on_input_changed(self, event: Input.Changed) -> None:
        """Ask with each letter."""
        event.stop()
        if event.value != self._question.text:
            self._then = self._then if event.value == self._meant else ""
            self._ask(self._question._replace(text=event.value))

    def show(self, answer: Answer) -> None:
        """Show what was found, or what is wrong with the question."""
        if self._box is None:
            return
        before, self._answer = self._answer, answer
        if before is None or before.question != answer.question:
            self._since = time.monotonic()
        found = answer.found
        if answer.problem is not None:
            self._hits.empty = ""  # what is wrong stands above
            self._hits.show_stale(True)
        elif found is not None:
            self._hits.show_stale(False)
            if not found.hits:
                self._hits.empty = search_words.nothing(self._studio, found, answer.question, self._app.spell)
            if not answer.again or before is None or before.found is None or before.found.hits != found.hits:
                self._put(found, answer)
            # An empty question needs no method, and does not know what those still have to take up.
            self._kept.complete |= bool(answer.question.text.strip()) and not found.pending
        self._draw_line()
        self._draw_rest()
        self._do_then()

    def _do_then(self) -> None:
        """Do what was pressed before there was an answer, once there is one, and all is taken up."""
        answer, late = self._answer, time.monotonic() >= self._until
        if not (self._then and self._box and answer is not None and answer.question == self._question):
            return
        if late or answer.found is None or not answer.found.pending:
            then, self._then = self._then, ""
            self._do(then)

    @property
    def _seen(self) -> bool:
        """Whether somebody who does something now can have seen what to do it with."""
        answer = self._answer
        if answer is None or answer.question != self._question or self._input.value != self._question.text:
            return False
        return answer.found is None or not answer.found.pending or time.monotonic() > self._since + _GLANCE

    def _put(self, found: Found, answer: Answer) -> None:
        """List what was found. Where more has come in meanwhile, the cursor stays on its row, and that in sight."""
        rows, at_best = rows_of(found.hits, answer.question.text), self._hits.at_best
        # What comes in when the index is made is no news: until it is complete the best hit is what matters.
        keep = answer.again and not (at_best and not self._kept.complete)
        self._hits.set_rows(rows, keep=keep, redraw=answer.again)
        if answer.again and at_best:
            self._hits.scroll_rows(0)
            self._hits.show_cursor()

    def on_virtual_list_highlighted(self, event: VirtualList.Highlighted) -> None:
        """Another hit: show what it takes."""
        event.stop()
        self._draw_preview()
        self.seen(event.index)

    def seen(self, row: int) -> None:
        """Near the end of what is listed there may be more."""
        found = self._answer.found if self._answer is not None else None
        if found is not None and len(found.hits) < min(found.total, MANY) and row > len(found.hits) - _NEAR:
            self._asker.more()

    def on_virtual_list_chosen(self, event: VirtualList.Chosen) -> None:
        """A double click opens."""
        event.stop()
        self.action_open()

    def _tell_once(self, why: str) -> None:
        if why not in self._kept.told:
            self._kept.told.add(why)
            self._app.say(why, "warning")

    # What a person does

    def _act(self, what: str) -> None:
        """Do it with the hit under the cursor, or once what is typed is answered."""
        if self._seen:
            self._do(what)
        else:
            # Before all is taken up the best may not be among the hits.
            self._then, self._meant, self._until = what, self._input.value, time.monotonic() + _PATIENCE
            self.set_timer(_PATIENCE, self._do_then)

    def _do(self, what: str) -> None:
        hit = self._hits.hit
        problem = self._answer.problem if self._answer is not None else None
        if problem is not None or hit is None:
            self._app.say(search_words.told(problem) if problem else "Nothing is found that this could be done with.")
        elif what in ("dotted", "flat"):
            self._app.copy(str(hit.ref) if what == "dotted" else hit.ref.flat, name=True)
        elif what == "details":
            self._details(hit)
        else:
            self.dismiss(Chosen(what, hit))

    def _details(self, hit: Hit) -> None:
        if hit.ref.server in self._studio.manager.names():
            self.app.push_screen(late.server_details(self._studio, hit.ref.server))
        else:
            self._app.say(f"There is no server {safe(hit.ref.server, 60)} any more.", "warning")

    def action_open(self) -> None:
        """Open it in the call pane."""
        self._act("open")

    def action_run(self) -> None:
        """Open it and run it."""
        self._act("run")

    def action_server(self) -> None:
        """Go to its server."""
        self._act("server")

    def action_details(self) -> None:
        """What is known about its server; this stays below."""
        self._act("details")

    def action_copy(self, form: str) -> None:
        """Copy its name: `dotted` or `flat`."""
        self._act(form)

    def action_turn(self, step: int) -> None:
        """Search in the next way, or in the one before; those that cannot be used are passed."""
        found = self._ways
        ring = [way.method for way in found]
        at = ring.index(self._question.method) if self._question.method in ring else min(-step, 0)
        for _ in ring:
            at = (at + step) % len(ring)
            if not found[at].why_not:
                break
            self._tell_once(found[at].why_not)
        self._ask(self._question._replace(method=ring[at]))

    def on_search_line_clicked(self, event: SearchLine.Clicked) -> None:
        """A way, or the scope."""
        event.stop()
        self.set_focus(self._input)
        if event.what in ("servers", "kinds"):
            self.action_servers() if event.what == "servers" else self.action_kinds()
            return
        way = next((way for way in self._ways if way.method == event.what), None)
        if way is not None and way.why_not:
            self._app.say(way.why_not, "warning")
        elif way is not None:
            self._ask(self._question._replace(method=way.method))

    def action_servers(self) -> None:
        """All servers, then the current one, then those that are chosen."""
        names, chosen = self._studio.manager.names(), self._question.servers
        if len(names) < 2:
            self._app.say("There is one server only." if names else "There is no server yet.")
        elif chosen is None:
            hit = self._hits.hit
            name = hit.ref.server if hit is not None else self._kept.server
            self._ask(self._question._replace(servers=frozenset((name if name in names else names[0],))))
            self._kept.picked = False
        elif self._kept.picked:
            self._ask(self._question._replace(servers=None))
        else:
            self.app.push_screen(SearchServers(names, chosen), self._pick)

    def _pick(self, servers: frozenset[str] | None) -> None:
        if servers is None:  # what was chosen stays, and the next step is all of them
            self._kept.picked = True
            return
        whole = servers == frozenset(self._studio.manager.names())
        self._kept.picked = not whole
        self._ask(self._question._replace(servers=None if whole else servers))

    def action_kinds(self) -> None:
        """Everything, then one kind after the other."""
        self._ask(self._question._replace(kind=next_kind(self._question.kind)))

    def action_move(self, by: int) -> None:
        """Move in the list."""
        self._hits.action_move(by)

    def action_page(self, by: int) -> None:
        """Move by whole screens of the list."""
        self._hits.action_page(by)

    def action_edge(self, last: bool) -> None:
        """Go to the first or the last of what is listed."""
        self._hits.action_last() if last else self._hits.action_first()

    def action_close(self) -> None:
        """Leave; the question is kept."""
        self.dismiss(None)
