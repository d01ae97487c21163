"""Servers that ended by themselves: noticed, told once, shown in a card; what they interrupted is sent again."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from mcp_studio.call.call import Call, Lost
from mcp_studio.safetext import safe
from mcp_studio.tui import late_trace
from mcp_studio.tui.panels.servers import Server

if TYPE_CHECKING:
    from mcp_studio.trace.postmortem import Mortem
    from mcp_studio.tui.mortem_text import Part
    from mcp_studio.tui.screens.main import MainScreen
    from mcp_studio.tui.screens.mortem_dialog import Wish


class Endings:
    """What the main screen does about them."""

    def __init__(self, screen: MainScreen) -> None:
        self._screen = screen
        self._studio = screen.studio
        self._newest: dict[str, Mortem] = {}
        self._unseen: set[str] = set()
        screen.result.ending = self.card

    # Noticing

    def marked(self, rows: Sequence[Server]) -> list[Server]:
        """The rows of the servers pane with what ended since it was looked at; tells of what is new."""
        return [self._marked(row) for row in rows]

    def _marked(self, row: Server) -> Server:
        name = row.status.server
        supervisor = self._studio.manager.supervisor(name)
        newest = supervisor.mortems[-1] if supervisor.mortems else None
        if newest is not None and self._newest.get(name) is not newest:
            self._notice(name, newest)
        elif newest is not None:
            self._again_shown(name)
        ended = ""
        if newest is not None and name in self._unseen and row.status.error is None:
            ended = f"{late_trace.mortem_words().short(newest)} ({self._key('server-ending')})"
        return row._replace(ended=ended, stray=supervisor.tap.stray_count)

    def _notice(self, name: str, newest: Mortem) -> None:
        self._newest[name] = newest
        lost = self._lost(newest)
        if lost is not None and self._screen.calling.call is lost:
            # The result pane shows it: whoever looks at that call needs no other word.
            self._screen.result.show(self._screen.calling.opened, lost)
            return
        if newest.ready and newest.ending.how != "closed" and name not in self._unseen:
            said = late_trace.mortem_words()
            more = f", {count} request{'s' if count > 1 else ''} lost" if (count := len(newest.flights)) else ""
            key = self._key("server-ending")
            self._screen.studio_app.say(f"{said.first_line(newest)}{more}. {key} on the server shows how.", "warning")
        if newest.ending.how != "closed":
            self._unseen.add(name)

    def _again_shown(self, name: str) -> None:
        """The card in the place of a result says how the server is now."""
        call = self._screen.calling.call
        if call is not None and call.ref.server == name and isinstance(call.outcome, Lost):
            self._screen.result.show(self._screen.calling.opened, call)

    def _key(self, action: str) -> str:
        return self._screen.studio_app.spell(action)

    # Showing

    def card(self, call: Call) -> list[Part] | None:
        """What the result pane shows of a call that was lost; None where nothing is known of an ending."""
        found = self._mortem(call)
        if found is None:
            return None
        self._unseen.discard(call.ref.server)
        status = self._studio.manager.status(call.ref.server)
        again = self._key("result-again")
        keys = f"{again} sends it again with the same value, and connects the server first where that is needed."
        return [*late_trace.mortem_text().card(found, status, ago=False), "\n", (keys, "$quiet")]

    def open(self, name: str) -> None:
        """How a server ended, over the screen."""
        manager, app = self._studio.manager, self._screen.studio_app
        supervisor = manager.supervisor(name)
        if not supervisor.mortems:
            app.say(f"{safe(name, 60)} has not ended by itself since the studio runs.")
            return
        self._unseen.discard(name)
        self._screen.refresh_servers()
        app.push_screen(
            late_trace.mortem_dialog(
                lambda: supervisor.mortems, lambda: manager.status(name) if name in manager.names() else None,
                lambda one: self._lost(one) is not None,
            ),
            self._wanted,
        )  # fmt: skip

    def stray(self, name: str) -> None:
        """What a server printed besides the protocol."""
        config = self._studio.manager.config(name)
        if config.kind != "stdio":
            self._screen.studio_app.say(f"{safe(name, 60)} is no program of ours: it has no standard output here.")
            return
        self._screen.studio_app.push_screen(late_trace.stray_dialog(self._studio.trace, config), self._to_trace)

    def _wanted(self, wish: Wish | None) -> None:
        if wish is None:
            return
        what, one = wish
        if what == "trace":
            self._to_trace(one.last)
        elif one.server not in self._studio.manager.names():
            return
        elif what == "restart":
            self._studio.manager.restart(one.server)
        elif what == "stray":
            self.stray(one.server)
        elif (lost := self._lost(one)) is not None:
            self.again(lost)

    def _to_trace(self, number: int | None) -> None:
        """Put the cursor of the trace on an entry; where its filter hides it, the entry alone is shown."""
        if number is None:
            return
        screen, trace = self._screen, self._studio.trace
        screen.go_to(screen.trace)
        found = screen.trace.live and screen.trace.table.go_to_number(number)
        if not found and (entry := trace.entry(number)) is not None:
            screen.app.push_screen(late_trace.trace_dialog(trace, entry))

    # The call that it interrupted

    def _mortem(self, call: Call) -> Mortem | None:
        """The ending that a call was lost to."""
        name = call.ref.server
        if not isinstance(call.outcome, Lost) or name not in self._studio.manager.names():
            return None
        known = self._studio.manager.supervisor(name).mortems
        return late_trace.mortem_of(call, reversed(known)) if known else None

    def _lost(self, one: Mortem) -> Call | None:
        """The call of the person that an ending interrupted, the newest of them."""
        calls = (call for call in self._screen.calling.kept if call.ref.server == one.server)
        return next((call for call in calls if self._mortem(call) is one), None)

    def again(self, call: Call | None) -> bool:
        """Send a call again that was lost, with the same value; False where it was not lost."""
        if call is None or not isinstance(call.outcome, Lost) or call.ref.server not in self._studio.manager.names():
            return False
        self._screen.run_worker(self._again(call), group="call", exclusive=True)
        return True

    async def _again(self, call: Call) -> None:
        manager, app, name = self._studio.manager, self._screen.studio_app, call.ref.server
        if manager.status(name).state in ("retrying", "failed", "disabled"):
            app.say(f"{safe(name, 60)} is started; then it is sent again.")
            manager.start(name)
        status = await manager.settle(name)
        if status.state != "ready":
            why = safe(status.error.message, 300) if status.error else status.state
            app.say(f"Not sent again: {safe(name, 60)} is not connected. {why}", "warning")
            return
        await manager.listed(name)
        calling = self._screen.calling
        if calling.call is not call:
            if not (found := self._studio.catalog.find(call.ref)):
                app.say(f"{safe(call.subject)} is not listed any more.", "warning")
                return
            await calling.open(found[0], go=False)
            self._screen.go_to(self._screen.result)
        if (opened := calling.opened) is not None:
            calling.follow(opened, self._repeat(call), call.params.get("arguments"), opened.secrets)

    def _repeat(self, call: Call) -> Call:
        """The same with the value that it had, whatever stands in the form by now; what is destructive asks again."""
        studio, params = self._studio, call.params
        match call.method:
            case "tools/call":
                task, ttl = call.wants_task, call.ttl
                return studio.call_tool(call.ref, params["arguments"], timeouts=call.timeouts, task=task, ttl=ttl)
            case "prompts/get":
                return studio.get_prompt(call.ref, params["arguments"], timeouts=call.timeouts)
            case _:
                return studio.read_resource(call.ref.server, call.ref.name, fresh=True, timeouts=call.timeouts)
