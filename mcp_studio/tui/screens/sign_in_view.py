"""What the dialog of signing in shows: every step as it happens, and what a person has to do now."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, cast

from textual.content import Content
from textual.events import Resize
from textual.widget import Widget
from textual.widgets import Input, Static

from mcp_studio.auth.signin import SignIn
from mcp_studio.present import questions
from mcp_studio.safetext import safe
from mcp_studio.session.inbox import Answer, InputRequest
from mcp_studio.tui import sign_in_text
from mcp_studio.tui.actions import spell
from mcp_studio.tui.screens.dialog import Box, Dialog
from mcp_studio.tui.screens.typed import Typed
from mcp_studio.tui.sign_in_text import Matter, Row
from mcp_studio.tui.views.glyphs import glyphs
from mcp_studio.tui.views.line import Line, cut, fit, spread
from mcp_studio.tui.views.virtual_list import VirtualList

if TYPE_CHECKING:
    from mcp_studio.tui.app import StudioApp
    from mcp_studio.tui.screens.signing import Signing

_STOP, _LATER = ("sign-in-stop", "Stop"), ("sign-in-later", "Later")
_OPEN = ("sign-in-open", "Exchanges")
_FIELD = (("sign-in-open", "Use it"), ("sign-in-later", "Leave the field"))
_KEYS: Mapping[str, tuple[tuple[str, str], ...]] = {
    "before": (("sign-in-open", "Sign in"), ("sign-in-steps", "Step by step"), ("sign-in-later", "Back")),
    "before, signed in": (
        *(("sign-in-open", "Sign in anew"), ("sign-in-steps", "Step by step")),
        *(("sign-in-token", "Token"), ("sign-in-later", "Back")),
    ),
    "asked": (
        *(("sign-in-open", "Sign in"), ("sign-in-steps", "Step by step")),
        *(("sign-in-decline", "Decline"), _LATER),
    ),
    "refused": (("sign-in-keep", "Keep elsewhere"), ("sign-in-later", "Back")),
    "running": (_OPEN, _STOP, _LATER),
    "paused": (("sign-in-next", "Send it"), ("sign-in-through", "Send all"), _OPEN, _STOP, _LATER),
    "browser": (
        *(("sign-in-browser", "Open"), ("sign-in-copy", "Copy"), ("sign-in-paste", "Paste")),
        *(_OPEN, _STOP, _LATER),
    ),
    "browser, typing": _FIELD,
    "choosing": (("sign-in-open", "Choose"), _STOP, _LATER),
    "client": _FIELD,
    "client, elsewhere": (("sign-in-copy", "Copy the redirect"), _OPEN, _STOP, _LATER),
    "failed": (("sign-in-again", "Again"), _OPEN, ("sign-in-later", "Close")),
    "cancelled": (("sign-in-again", "Again"), _OPEN, ("sign-in-later", "Close")),
    "done": (("sign-in-later", "Close"), ("sign-in-token", "Token"), _OPEN),
}
"""What is offered in the border, by state."""
_TALL = 32
"""Lines of the screen from which on all of what came out of a step is told in the list."""


class SignInView(Dialog[Answer]):
    """Follows one sign-in: the steps, a card on what there is to do, and the fields for it.

    Args:
        signing: begins it, and knows what stands around it.
        request: the question of the inbox that it answers, where one waits for it.
        run: a sign-in that has begun already.
    """

    def __init__(
        self, signing: Signing, server: str, request: InputRequest | None = None, run: SignIn | None = None
    ) -> None:
        super().__init__()
        self.server = server
        self.request = request
        self.run_now = run
        self._signing = signing
        self._matter: Matter = signing.matter(server, request)
        self._state = ""
        self._end: Callable[[], None] = lambda: None
        self._about = Static(classes="quiet")
        self._list: VirtualList[Row] = VirtualList(
            self._draw, key=lambda row: (row.step.name, row.line), stops=lambda row: not row.line
        )
        self._card = Static()
        self._frame = Box(self._card, classes="card")
        self._frame.can_focus = True
        self._choices: VirtualList[str] = VirtualList(self._draw_choice, classes="choices")
        self._id = Typed("client id", self.entered)
        self._secret = Typed("client secret, if it has one", self.entered, password=True)
        self._paste = Typed("http://127.0.0.1:…/callback?code=…", self.entered)
        self._paste.display = False  # until somebody wants it, also where the page is there already
        self._note = Static(classes="bad note")

    @property
    def stays(self) -> bool:
        """Whether it goes on showing what came of it when nobody waits for it any more."""
        return self.run_now is not None

    def heading(self) -> Content:
        """Which server, and what waits for it."""
        title = f"Sign in to {safe(self.server, 40)}"
        if self.request is not None and self.request.subject:
            title += f" · {safe(self.request.subject, 60)} is waiting"
        loud = self._signing.loud(self.server)
        return Content.assemble(title, *([(f"  {glyphs().warning} {loud}", "$state-failed")] if loud else []))

    def body(self) -> Iterable[Widget]:
        """Where it is, the steps, what there is to do, and fields for it."""
        yield self._about
        yield self._list
        yield self._frame
        yield self._choices
        yield self._id
        yield self._secret
        yield self._paste
        yield self._note

    def on_mount(self) -> None:
        """Show what is known, and follow it."""
        if self.request is None:
            self._deaf_until = 0.0  # a key of the person opened it
        self._tell_where()
        self._list.focus()
        if self.run_now is not None:
            self._follow(self.run_now)
        else:
            self.run_worker(self._ask_where(), group="where", exclusive=True)
        self._show()
        self.set_interval(1, self._tick)

    def on_unmount(self) -> None:
        """Follow it no longer."""
        self._end()

    def on_screen_resume(self) -> None:
        """The dialog above it, of the token, may have ended what this one tells of."""
        if self._at == "done":
            self.run_worker(self._still(), group="still", exclusive=True)

    async def _still(self) -> None:
        if await self._signing.signed_in(self.server) or self._at != "done":
            return
        self._end()
        self.run_now, self._matter = None, self._signing.matter(self.server, self.request)
        await self._ask_where()

    async def _ask_where(self) -> None:
        """Whether tokens can be kept is told before anything is sent."""
        matter = await self._signing.with_place(self._matter)
        self._matter = matter if self.request is None else matter._replace(account=None)
        self._show()

    def look_again(self) -> None:
        """Tokens are kept in another place now."""
        self.run_worker(self._ask_where(), group="where", exclusive=True)

    def _follow(self, run: SignIn) -> None:
        self._end()
        self.run_now = run
        self._end = run.changed.connect(self._heard)
        self._show()

    def entered(self, line: Input) -> None:
        """Enter in a field."""

    def _heard(self, run: SignIn) -> None:
        # Told by a task of the studio, which knows of no screen.
        self.call_later(self._show)

    # What is shown

    @property
    def _at(self) -> str:
        """The state, with what there is before one."""
        if self.run_now is not None:
            return self.run_now.state
        if self._matter.refusal:
            return "refused"
        return "asked" if self.request is not None else "before"

    def _tell_where(self) -> None:
        left = questions.left(self.request) if self.request is not None else ""
        self._about.update(Content(" · ".join(filter(None, (safe(self._matter.address, 1_000), left)))))

    def _tick(self) -> None:
        if self.request is not None:
            self._tell_where()
        if self._at in ("browser", "done"):
            self._show()

    def _show(self) -> None:
        if not self.is_attached:
            return
        run, at = self.run_now, self._at
        steps = run.steps if run is not None else ()
        self._list.display = bool(steps)
        self._matter = self._matter._replace(status=self._signing.status(self.server))
        most = 1 if self.size.height < _TALL else 4
        self._list.set_rows(sign_in_text.rows(steps, self._list.row_width or 72, most))
        parts = sign_in_text.card(run, self._matter, self._key) if run else sign_in_text.before(self._matter, self._key)
        self._card.update(Content.assemble(*parts))
        if run is not None:
            self._choices.set_rows(run.choices)
        if at != self._state:
            self._turn(at)
        self.query_one("#box").border_subtitle = self.keys_line()

    def _turn(self, at: str) -> None:
        """Another state: other fields, another place for the cursor."""
        self._state = at
        self._choices.display = at == "choosing"
        self._id.display = self._secret.display = at == "client"
        self._frame.set_class(at in ("choosing", "client"), "-short")
        self._paste.display = self._paste.display and at == "browser"
        if at != "browser":
            self._paste.value = ""
        if at != "client":
            self._secret.value = ""
        self._note.update("")
        self._frame.scroll_home(animate=False)
        target = {"choosing": self._choices, "client": self._id}.get(at)
        if target is None:
            target = self._list if self._list.display else self._frame
        target.focus()
        asking = next((row for row in self._list.rows if row.step.state in ("asking", "failed", "running")), None)
        if asking is not None:
            self._list.go_to_key((asking.step.name, 0))

    def keys_line(self) -> Content:
        """Only what can be done now."""
        parts: list[str | tuple[str, str]] = []
        at, typing = self._at, isinstance(self.focused, Input)
        at = {("client", False): "client, elsewhere", ("browser", True): "browser, typing"}.get((at, typing), at)
        if at == "before" and self._matter.account is not None:
            at = "before, signed in"
        for action, word in _KEYS[at]:
            if action == "sign-in-browser" and not self._matter.browser:
                continue
            parts += ["   " if parts else "", (self._key(action), "b $primary"), f" {word}"]
        return Content.assemble(*parts)

    def on_descendant_focus(self) -> None:
        """Letters are typed into a field, and act elsewhere."""
        super().on_descendant_focus()
        self.query_one("#box").border_subtitle = self.keys_line()

    def _draw(self, row: Row, width: int, selected: bool) -> Line:
        indent = " " * (sign_in_text.TITLE + 2)
        if row.line:
            return [(indent, ""), (cut(row.text, width - len(indent), more=glyphs().more), "dim")]
        mark, look = sign_in_text.sign(row.step)
        strong = "strong" if row.step.state in ("running", "asking", "failed") else ""
        title = fit(safe(row.step.title, 60), sign_in_text.TITLE - 1, more=glyphs().more)
        count = len(row.step.exchanges)
        right = f" {count} {glyphs().folded}" if count else ""
        left = [(f"{mark} ", look), (f"{title} ", strong or ("dim" if row.step.state == "waiting" else ""))]
        return spread([*left, (row.text, "dim")], [(right, "dim")], width)

    def _draw_choice(self, issuer: str, width: int, selected: bool) -> Line:
        return [(cut(safe(issuer, 600), width, more=glyphs().more), "")]

    def on_virtual_list_highlighted(self, event: VirtualList.Highlighted) -> None:
        """Keep it to this dialog."""
        event.stop()

    def on_resize(self, event: Resize) -> None:
        """Details are wrapped to the width."""
        self.call_after_refresh(self._show)

    def _key(self, action: str) -> str:
        return spell(cast("StudioApp", self.app).key_of(action))

    def say(self, text: str) -> None:
        """A word to the person below everything."""
        self._note.update(Content(safe(text, 800)))
