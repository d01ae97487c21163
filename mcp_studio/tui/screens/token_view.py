"""A server's token: what it allows, until when, and what its claims say."""

from __future__ import annotations

import time

from textual import work

from mcp_studio.auth.model import Account
from mcp_studio.jsontext import pretty
from mcp_studio.present.accounts import account_rows, claim_rows
from mcp_studio.safetext import safe
from mcp_studio.tui.screens.dialog import Choice, Choose, Confirm, Dialog, Item, Parts, fact
from mcp_studio.tui.views.rows import glyphs

_CLAIMS = 8_000
"""Characters of the claims of one token."""
_SOON = 60
"""Seconds before a token's end from which on the end is highlighted."""


class TokenView(Dialog[bool]):
    """Shows what the token allows, until when, and what its claims say; answers True if the person wants to sign in.

    The dialog redraws itself every second, and never shows the token itself.
    """

    DEFAULT_CLASSES = "-broad"
    every = 1.0
    choices = (
        Choice("refresh", "Renew", "primary"), Choice("sign_in", "Sign in", "primary", True), Choice("copy", "Copy"),
        Choice("sign_out", "Sign out"), Choice("forget", "Forget…"), Choice("back", "Close"),
    )  # fmt: skip

    def __init__(self, server: str) -> None:
        super().__init__(f"Token of {server}")
        self._server = server
        self._account: Account | None = None

    def on_mount(self) -> None:
        self.query_one("#buttons").display = False
        self.run_worker(self._look(), group="look", exclusive=True)

    # What is shown

    async def _look(self) -> None:
        self._account = account = await self.app.studio.sign_ins.account(self._server)
        self.show_buttons(**{one.action: (one.action == "sign_in") == (account is None) for one in self.choices[:-1]})
        self.query_one("#buttons").display = True
        self.query_one("#back" if account is not None else "#sign_in").focus()
        self.look()

    def look(self) -> None:
        if self.query_one("#buttons").display:
            self.put("facts", *self._parts())

    def _parts(self) -> Parts:
        account, now = self._account, time.time()
        if account is None:
            return [f"There is no sign-in to {safe(self._server, 60)}."]
        looks = {"issuer": "bold"}
        if account.expires and account.expires - now < _SOON:
            looks["expires"] = "$state-busy" if account.refreshable or account.expires > now else "$state-failed"
        parts: Parts = []
        for label, text in account_rows(account, now):
            parts += fact(label, text, looks.get(label, ""))
        for title, claims in (("Access token", account.claims), ("Identity token", account.id_claims)):
            if claims:  # the registered claims as sentences, then all claims
                parts.append((f"\n{title}; its signature is not checked by the studio\n", "bold $accent"))
                for label, text in claim_rows(claims, now):
                    parts += fact(label, text)
                parts.append((f"{safe(pretty(claims), _CLAIMS, lines=True)}\n", "$quiet"))
        if not account.claims:
            parts.append((f"\n{glyphs().dot} The access token is opaque: it says nothing here.\n", "$quiet"))
        return parts

    # What the person does

    @work(group="do", exclusive=True)
    async def action_refresh(self) -> None:
        await self.app.studio.sign_ins.refresh(self._server)
        await self._look()
        self.app.say("The token is renewed.")

    @work(group="do", exclusive=True)
    async def action_sign_out(self) -> None:
        text = "The tokens are revoked where that is offered, and forgotten in any case."
        confirm = Confirm(f"Sign out of {self._server}?", text, "Sign out", destroys=True)
        if await self.app.push_screen_wait(confirm):
            told = await self.app.studio.sign_ins.sign_out(self._server)
            await self._look()
            self.app.say(told)

    @work(group="do", exclusive=True)
    async def action_forget(self) -> None:
        options = (
            Item("The tokens: no request is sent, they stay valid until they expire", "token"),
            Item("The client, too: the next sign-in registers a new one", "client"),
        )
        if what := await self.app.push_screen_wait(Choose(f"Forget what of {self._server}?", options)):
            await self.app.studio.sign_ins.forget(self._server, client=what == "client")
            await self._look()
            self.app.say("Tokens and client are forgotten." if what == "client" else "The tokens are forgotten.")

    @work(group="do", exclusive=True)
    async def action_copy(self) -> None:
        text = "Whoever has it can do there what you can. Some programs keep a history of the clipboard."
        if await self.app.push_screen_wait(Confirm("Copy the access token?", text, "Copy it", destroys=True)):
            studio = self.app.studio
            self.app.copy(await studio.sign_ins.accounts.token(studio.manager.config(self._server)), "the token")
