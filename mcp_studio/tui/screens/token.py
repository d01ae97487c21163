"""What signing in has brought: the token of a server, and the HTTP exchanges of each step."""

from __future__ import annotations

import time
from collections.abc import Iterable

from textual.content import Content
from textual.widget import Widget
from textual.widgets import Button, Static

from mcp_studio.auth.model import Account, AuthStep
from mcp_studio.jsontext import pretty
from mcp_studio.present import units
from mcp_studio.present.accounts import account_rows, claim_rows
from mcp_studio.safetext import safe
from mcp_studio.tui.screens.dialog import Choice, Choose, Confirm, Dialog, Parts
from mcp_studio.tui.views.rows import glyphs
from mcp_studio.tui.views.text_view import Findable, TextView

_LABEL, _CLAIMS = 12, 8_000
"""Cells of a label, and characters of the claims of one token."""
_SOON = 60
"""Seconds before a token's end from which on that stands out."""


class TokenView(Dialog[bool]):
    """What the token allows, for how long, and what it says of itself; answers True where the person wants to sign in.

    Drawn anew every second; the token itself is never shown.
    """

    DEFAULT_CLASSES = "-large"
    every = 1.0
    choices = (
        Choice("refresh", "Renew", "primary"), Choice("sign_in", "Sign in", "primary", True), Choice("copy", "Copy"),
        Choice("sign_out", "Sign out"), Choice("forget", "Forget…"), Choice("back", "Close"),
    )  # fmt: skip

    def __init__(self, server: str) -> None:
        super().__init__(f"Token of {server}")
        self._server = server
        self._account: Account | None = None

    def body(self) -> Iterable[Widget]:
        yield Static(id="facts", markup=False)

    def on_mount(self) -> None:
        self.query_one("#buttons").display = False
        self.app.attempt(self, self._look(), "look")

    # What is shown

    async def _look(self) -> None:
        self._account = account = await self.app.studio.signing.account(self._server)
        for choice in self.choices:
            wanted = choice.action == "back" or (choice.action == "sign_in") == (account is None)
            self.query_one(f"#{choice.action}", Button).display = wanted
        self.query_one("#buttons").display = True
        self.query_one("#back" if account is not None else "#sign_in").focus()
        self.look()

    def look(self) -> None:
        if self.query_one("#buttons").display:
            self.query_one("#facts", Static).update(Content.assemble(*self._parts()))

    def _parts(self) -> Parts:
        account, now = self._account, time.time()
        if account is None:
            return [f"There is no sign-in to {safe(self._server, 60)}."]
        looks = {"issuer": "bold"}
        if account.expires and account.expires - now < _SOON:
            looks["expires"] = "$state-busy" if account.refreshable or account.expires > now else "$state-failed"
        parts: Parts = []
        for label, text in account_rows(account, now):
            parts += [(f"{label:<{_LABEL}}", "$quiet"), (text, looks.get(label, "")), "\n"]
        for title, claims in (("Access token", account.claims), ("Identity token", account.id_claims)):
            if claims:  # in words what the registered claims say, then all of them
                parts.append((f"\n{title}; its signature is not checked by the studio\n", "bold $accent"))
                for label, text in claim_rows(claims, now):
                    parts += [(f"{label:<{_LABEL}}", "$quiet"), text, "\n"]
                parts.append((f"{safe(pretty(claims), _CLAIMS, lines=True)}\n", "$quiet"))
        if not account.claims:
            parts.append((f"\n{glyphs().dot} The access token is opaque: it says nothing here.\n", "$quiet"))
        return parts

    # What the person does

    def action_refresh(self) -> None:
        self.app.attempt(self, self._refresh(), "do")

    async def _refresh(self) -> None:
        await self.app.studio.signing.refresh(self._server)
        await self._look()
        self.app.say("The token is renewed.")

    def action_sign_out(self) -> None:
        self.app.attempt(self, self._sign_out(), "do")

    async def _sign_out(self) -> None:
        text = "The tokens are revoked where that is offered, and forgotten in any case."
        confirm = Confirm(f"Sign out of {self._server}?", text, "Sign out", destroys=True)
        if await self.app.push_screen_wait(confirm):
            told = await self.app.studio.signing.sign_out(self._server)
            await self._look()
            self.app.say(told)

    def action_forget(self) -> None:
        self.app.attempt(self, self._forget(), "do")

    async def _forget(self) -> None:
        options = (
            ("token", "The tokens: no request is sent, they stay valid until they expire"),
            ("client", "The client, too: the next sign-in registers a new one"),
        )
        if what := await self.app.push_screen_wait(Choose(f"Forget what of {self._server}?", options)):
            await self.app.studio.signing.forget(self._server, client=what == "client")
            await self._look()
            self.app.say("Tokens and client are forgotten." if what == "client" else "The tokens are forgotten.")

    def action_copy(self) -> None:
        self.app.attempt(self, self._copy(), "do")

    async def _copy(self) -> None:
        text = "Whoever has it can do there what you can. Some programs keep a history of the clipboard."
        if await self.app.push_screen_wait(Confirm("Copy the access token?", text, "Copy it", destroys=True)):
            studio = self.app.studio
            self.app.copy(await studio.signing.accounts.token(studio.manager.config(self._server)), "the token")


class Exchanges(Dialog[None]):
    """The HTTP exchanges of one step as one text: what was sent and what came, the newest last."""

    DEFAULT_CLASSES = "-large"
    choices = (Choice("back", "Close"), Choice("copy", "Copy"))

    def __init__(self, step: AuthStep) -> None:
        super().__init__(f"{step.title}: {units.plural(len(step.exchanges), 'exchange')}")
        self._step = step
        self._view = TextView()

    def body(self) -> Iterable[Widget]:
        if said := " ".join(filter(None, (self._step.detail, self._step.hint))):
            yield Static(Content(safe(said, 2_000)), classes="gap")
        yield Findable(self._view)

    def on_mount(self) -> None:
        signs, texts = glyphs(), list[str]()
        for one in self._step.exchanges:
            sent = f"{signs.sent} {one.method} {one.url}\n{one.request.rstrip()}"
            status = f"{signs.received} {one.status or 'no answer'} after {units.duration(one.ms)}"
            texts.append(f"{one.purpose}\n\n{sent}\n\n{status}\n{one.response.rstrip()}")
        self._view.show("\n\n".join(texts))
        self._view.focus()
