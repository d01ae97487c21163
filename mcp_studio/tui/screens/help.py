"""The keys of the focused pane, those that act everywhere, and what the signs mean."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import cast

from textual.content import Content
from textual.widget import Widget

from mcp_studio.tui.actions import Scope, scoped, spell_all
from mcp_studio.tui.screens.dialog import Dialog
from mcp_studio.tui.views.glyphs import glyphs
from mcp_studio.tui.views.hanging import Hanging

_WORDS: Mapping[str, str] = {
    "servers": "Servers are started and watched here. {on} is connected, {half} on its way, {off} off, {bad} failed; "
    "{warning} means that it does something wrong: enter tells what. {stray} counts the lines that it printed to "
    "standard output besides the protocol: s shows them, and why. m tells how it ended. A server that wants a sign-in "
    "says so: a signs in, t shows the token that came of it.",
    "catalog": "What all servers offer. r only reads, w writes, ! may destroy: hints from the server, no guarantee. "
    "{half} is remembered from an earlier run and not confirmed yet. {watched} is watched, with the updates since "
    "it was read last. {bad} is malformed, with the reason. {new} new, {changed} changed and {gone} gone are what is "
    "different since you last looked: opening it is looking, and so is marking all as seen.",
    "tasks": "What runs at servers on your behalf, and what came of it: {half} works, {waiting} waits for an answer, "
    "{ok} completed, {bad} failed or gone, {off} cancelled. Tasks are asked for by themselves, over reconnects and "
    "over restarts; those that a server merely lists only when you ask.",
    "call": "Fill in the form and run it. The form, the JSON tab and what was typed before are one value; "
    "it is kept when you leave. Fields with * are required. Tab and the arrows walk the rows, space chooses and "
    "unfolds, enter goes on or opens a larger editor, ^d goes through what a field can be without a value. Where "
    "the server completes what you type, down goes into its list and enter takes a value; alt+down asks for the list. "
    "alt+h lists what else helps with a field: dates, files, your editor, pasting, examples.",
    "search": "Everything that servers offer, found as you type. r only reads, w writes, ! may destroy; res, tpl and "
    "pr are resources, templates and prompts. Then come how often it was used, and what it is; {half} is remembered "
    "from an earlier run. Below: what it takes, * where it must be given, and why it matched. Ways of searching that "
    "are struck through lack something: a click tells what.",
    "result": "What came back: as text, as structured JSON, and as it came over the wire.",
    "trace": "Every message in both directions, HTTP exchanges, stderr and stray output, in order. "
    "{sent} is what we sent, {received} what came, {by_hand} what was written by hand; {under} came under "
    "the call above, {follows} is a later round of it. In front: {mark} is new since you looked, {marked} marked, "
    "{said} commented, {marked_said} both; {bad} and {warning} are findings of the lint.",
}
_TITLES: Mapping[str, str] = {
    "servers": "Servers", "catalog": "Catalog", "tasks": "Tasks", "call": "Call", "result": "Result", "trace": "Trace",
    "detail": "Detail",
}  # fmt: skip

_FORMS = ("question", "sampling", "rule", "roots", "server dialog")
"""Dialogs that hold forms."""


class Help(Dialog[None], scope="dialog"):
    """Shown over the pane that has the focus, or over a dialog: `pane` is its name, or the scope of the dialog."""

    reads = True

    def __init__(self, pane: str, keys: Mapping[str, str]) -> None:
        super().__init__()
        self._pane = pane
        self._keys = keys
        self._text = ""

    def heading(self) -> Content:
        """Which pane it is about."""
        return Content(f"Help: {_TITLES.get(self._pane, 'everywhere' if not self._pane else 'keys here')}")

    def body(self) -> Iterable[Widget]:
        """Words, then keys."""
        signs = glyphs()
        parts: list[str | tuple[str, str]] = []
        if words := _WORDS.get(self._pane):
            names = (
                "on",
                "half",
                "off",
                "bad",
                "warning",
                "sent",
                "received",
                "watched",
                "waiting",
                "ok",
                "new",
                "changed",
                "gone",
                "by_hand",
                "under",
                "follows",
                "mark",
                "marked",
                "said",
                "marked_said",
                "stray",
            )
            parts += [words.format(**{name: getattr(signs, name) for name in names}), "\n"]
        for title, scopes in self._sections():
            parts.append((f"\n{title}\n", "b $accent"))
            rows = ((spell_all(self._keys.get(action.id, action.keys)), action.title) for action in scoped(*scopes))
            for keys, words in dict.fromkeys(rows):
                parts += [(f"  {keys:<26}", "$primary"), f" {words}\n"]
        content = Content.assemble(*parts)
        self._text = content.plain
        yield Hanging(content)

    def _sections(self) -> list[tuple[str, tuple[Scope, ...]]]:
        found: list[tuple[str, tuple[Scope, ...]]] = []
        if self._pane and self._pane not in _TITLES:
            found.append(("In this dialog", (cast("Scope", self._pane),)))
            if self._pane in _FORMS:
                found.append(("In the form", ("form",)))
            return [*found, ("In lists and viewers", ("list", "viewer"))]
        if self._pane:
            found.append(("In this pane", (cast("Scope", self._pane),)))
        if self._pane == "call":
            found.append(("In the form", ("form",)))
            found.append(("In the JSON editor", ("json",)))
        lists: tuple[Scope, ...] = (
            ("list",) if self._pane in ("servers", "catalog", "tasks", "trace") else ("list", "viewer")
        )
        return [*found, ("In lists and viewers", lists), ("Everywhere", ("main", "app"))]

    def action_help_here(self) -> None:
        """The key that opened it closes it."""
        self.dismiss(None)

    def action_close(self) -> None:
        """Leave."""
        self.dismiss(None)
