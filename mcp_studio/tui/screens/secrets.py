"""Dialogs about secrets: a server's token and its exchanges, the vault's passphrase, secrets in entries."""

from __future__ import annotations

import time
from collections.abc import Iterable

from textual import on, work
from textual.content import Content
from textual.widget import Widget
from textual.widgets import Input, Static

from mcp_studio.auth.model import Account, AuthStep
from mcp_studio.config.model import ServerConfig
from mcp_studio.config.secrets import offers
from mcp_studio.errors import VaultRefused
from mcp_studio.jsontext import pretty
from mcp_studio.present import units
from mcp_studio.present.accounts import account_rows, claim_rows
from mcp_studio.safetext import safe
from mcp_studio.threads import beside
from mcp_studio.tui import server_files
from mcp_studio.tui.app import StudioApp
from mcp_studio.tui.screens.dialog import Choice, Choose, Confirm, Dialog, Item, Parts, fact
from mcp_studio.tui.views.rows import Findable, TextView, glyphs
from mcp_studio.vault.file import SHORTEST
from mcp_studio.vault.keyring import move, named

_CLAIMS = 8_000
"""Characters of the claims of one token."""
_SOON = 60
"""Seconds before a token's end from which on the end is highlighted."""


class TokenView(Dialog[bool]):
    """Shows what the token allows, until when, and what its claims say; answers True if the person wants to sign in.

    The dialog redraws itself every second, and never shows the token itself.
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


class Exchanges(Dialog[None]):
    """The HTTP exchanges of one step as a text, the newest last."""

    DEFAULT_CLASSES = "-large"
    AUTO_FOCUS = "TextView"
    choices = (Choice("back", "Close"), Choice("copy", "Copy"))

    def __init__(self, step: AuthStep) -> None:
        super().__init__(f"{step.title}: {units.plural(len(step.exchanges), 'exchange')}")
        self._step = step

    def body(self) -> Iterable[Widget]:
        if text := " ".join(filter(None, (self._step.detail, self._step.hint))):
            yield Static(Content(safe(text, 2_000)), classes="gap")
        signs, texts = glyphs(), list[str]()
        for one in self._step.exchanges:
            request = f"{signs.sent} {one.method} {one.url}\n{one.request.rstrip()}"
            status = f"{signs.received} {one.status or 'no answer'} after {units.duration(one.ms)}"
            texts.append(f"{one.purpose}\n\n{request}\n\n{status}\n{one.response.rstrip()}")
        yield Findable(TextView("\n\n".join(texts)))


class Passphrase(Dialog[str]):
    """Answers the passphrase; None if the person gave none.

    Args:
        reason: a sentence on what the passphrase is for.
        new: whether the person chooses it now, so that it must be typed twice.
    """

    DEFAULT_CLASSES = "-small"

    def __init__(self, reason: str, *, new: bool) -> None:
        self.choices = (Choice("submit", "Set it" if new else "Unlock", "primary"), Choice("back", "Cancel"))
        super().__init__("New passphrase" if new else "Passphrase")
        self._reason, self._new = reason, new

    def body(self) -> Iterable[Widget]:
        yield Static(Content(safe(self._reason, 800, lines=True)), classes="gap")
        for hint in ("passphrase", "once more") if self._new else ("passphrase",):
            yield Input(placeholder=hint, password=True, compact=True)

    @on(Input.Submitted)
    def action_submit(self) -> None:
        typed = [field.value for field in self.query(Input)]
        if not typed[0]:
            problem = "A passphrase is required."
        elif self._new and len(typed[0]) < SHORTEST:
            problem = f"A passphrase must have at least {SHORTEST} characters."
        elif not typed[-1]:
            problem = ""
            self.query(Input).last().focus()
        elif typed[0] != typed[-1]:
            problem = "The two are not the same."
        else:
            self.dismiss(typed[0])
            return
        self.note(problem, "bad")


async def offered(app: StudioApp, servers: list[ServerConfig]) -> list[ServerConfig] | None:
    """Ask about secrets in clear; returns the entries as they should be written, or None if the person cancels.

    Where there is no keyring, an encrypted file is offered instead.

    Raises:
        ConfigError: the secrets cannot be stored; the hint offers another way.
    """
    found = [one for server in servers for one in offers(server)]
    if not found:
        return servers
    them = "it" if len(found) == 1 else "them"
    try:
        way, place = "keep", await beside(lambda: named().place)
    except VaultRefused:
        way, place = "file", "an encrypted file from now on, under a passphrase"
    options = (
        Item(f"Store {them} in {place}, and write ${{keyring:{found[0].name}}}", way),
        Item(f"Write {them} into the file in clear", "clear"),
    )
    places = ", ".join(dict.fromkeys(safe(one.key, 60) for one in found))
    title = f"{units.plural(len(found), 'secret')} in clear: {places}"
    chosen = await app.push_screen_wait(Choose(title, options, way))
    if chosen == "file":
        await server_files.keep_secrets_in_file(app.studio)
    if chosen == way:
        return await beside(move, servers, app.studio.redactor)
    return servers if chosen == "clear" else None
