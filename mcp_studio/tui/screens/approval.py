"""A call that needs approval: run it once, from now on, or not."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import date, timedelta
from glob import escape

from textual import work
from textual.content import Content
from textual.widgets import Input, Static

from mcp_studio.catalog.listing import Entry, diff
from mcp_studio.config.model import PolicyRule
from mcp_studio.config.settings import fingerprint
from mcp_studio.jsontext import pretty
from mcp_studio.safetext import safe
from mcp_studio.session.inbox import Answer, InputRequest
from mcp_studio.tui.screens.dialog import Choice, Choose, Item, Parts, Widgets, diff_lines, section
from mcp_studio.tui.screens.elicitation import LATER, RequestDialog
from mcp_studio.tui.server_files import put_rule
from mcp_studio.tui.views.rows import glyphs

_SHOWN = 8_000
_DAYS = 30
"""Days for which a rule with an end allows a tool."""


class Approval(RequestDialog):
    """Answers accept or decline; None means later.

    Args:
        edit: shows the form of the waiting call; None if many calls wait, or none of a person.
    """

    AUTO_FOCUS = "#decline"
    choices = (
        Choice("accept", "Run once", "error", Answer("accept")), Choice("allow", "Always allow…"),
        Choice("decline", "Deny"), Choice("edit", "Edit"), LATER,
    )  # fmt: skip

    def __init__(self, request: InputRequest, edit: Callable[[], None] | None = None) -> None:
        if not request.server:  # no call waits, but a step of a workflow, and its message is what it asks
            self.choices = (Choice("accept", "Go on", "primary", Answer("accept")), *self.choices[1:])
        super().__init__(request)
        self.title = f"Run {safe(request.subject, 70)}?" if request.server else safe(request.subject, 70)
        self._edit = edit
        self._changed = self._look_up()
        """The tool if its definition differs from the accepted one; no rule allows the tool until that is accepted."""

    @property
    def default(self) -> str:
        """Of a destructive call, the same key again must not be enough."""
        return "decline" if "risk high" in self.request.reasons else super().default

    def _look_up(self) -> Entry | None:
        request = self.request
        tools = self.app.studio.catalog.listing(request.server, "tool").entries
        changed = (one for one in tools if one.change and one.change.unaccepted)
        return next((one for one in changed if f"{request.subject} ".startswith(f"{one.ref} ")), None)

    def question(self) -> Widgets:
        risky = "risk high" in self.request.reasons
        first, *others = [safe(reason, 200) for reason in self.request.reasons if self.request.server] or [""]
        tool = self._changed
        difference = [*diff(tool.change.before, tool.view.raw)] if tool and tool.change else []
        facts: Parts = [
            (" · ".join(others) + "\nWhat the server says of its tools is a hint, not a guarantee.\n", "$quiet"),
            *section("The definition differs from the accepted one", diff_lines(difference)),
            "\nArguments\n",
            safe(pretty(self.request.arguments), _SHOWN, lines=True),
        ]
        sign, look = (f"{glyphs().warning} ", "bold $risk-destructive") if risky else ("", "bold")
        head = (f"{sign}{first[:1].upper()}{first[1:]}\n", look)
        said = safe(self.request.message, _SHOWN, lines=True)
        yield Static(Content.assemble(head, *(facts if self.request.server else [f"\n{said}\n"])))
        yield Input(placeholder="Note to the caller, optional", id="reason", compact=True)

    def on_mount(self) -> None:
        self.show_buttons(edit=self._edit is not None, allow=self._edit is not None or self._changed is not None)

    def action_decline(self) -> None:
        self.dismiss(Answer("decline", note=self.query_one("#reason", Input).value.strip()))

    def action_edit(self) -> None:
        """Cancel the call and go to its form, so that the person can change its arguments and call it."""
        if self._edit is not None:
            self.dismiss(Answer("cancel", note="you edit it first"))
            self.app.call_later(self._edit)

    @work(group="allow", exclusive=True)
    async def action_allow(self) -> None:
        """Run it, and ask no more: a rule is made, or what the tool is now is accepted."""
        studio, tool = self.app.studio, escape(self.request.subject)
        every = f"{escape(self.request.server)}.*"
        until = (date.today() + timedelta(days=_DAYS)).isoformat()
        changed = self._changed
        rules = {
            "session": (PolicyRule(tool, "allow"), "This tool, until the studio ends"),
            "exactly": (PolicyRule(tool, "allow", exactly=fingerprint(self.request.arguments)), "These arguments"),
            "until": (PolicyRule(tool, "allow", until=until), f"This tool, until {until}"),
            "tool": (PolicyRule(tool, "allow"), f"This tool, always: {tool}"),
            "server": (PolicyRule(every, "allow"), f"Every tool of the server: {every}"),
        }
        options = [Item(title, name) for name, (_, title) in rules.items() if self._edit is not None]
        file = studio.paths.config_file
        text = f"The studio writes the rule into {file}, unless it holds only until the studio ends."
        if changed is not None:
            options.insert(0, Item("Accept the change, and make no rule", "accept"))
            rules_too = text * (self._edit is not None)
            text = f"Each of these accepts the change, without which no rule allows the tool. {rules_too}"
        offered = Choose("Always allow", options, "accept" if changed else "exactly", text)
        if not (chosen := await self.app.push_screen_wait(offered)):
            return
        if changed is not None and (now := self._look_up()) is not None:
            if now.view.raw != changed.view.raw:  # a definition that the person has not seen must not be accepted
                self.dismiss(None)
                self.app.say(f"{safe(str(now.ref), 80)} has changed again: nothing was accepted.", "warning")
                return
            studio.catalog.accept(now.ref)
        if rule := rules.get(chosen, (None,))[0]:
            if chosen != "session":
                await asyncio.to_thread(put_rule, file, rule)
            studio.caller.policy.put_first(rule)
        if not self.request.reply.done():  # the request may have been withdrawn meanwhile
            self.dismiss(Answer("accept"))
