"""The token of a server: what it allows, for how long, what it says of itself; and what can be done with it."""

from __future__ import annotations

import time
from collections.abc import Coroutine, Iterable
from typing import Any

from textual import getters
from textual.content import Content
from textual.widget import Widget
from textual.widgets import Button, Static

from mcp_studio.auth.model import Account
from mcp_studio.errors import StudioError
from mcp_studio.jsontext import Json, dumps
from mcp_studio.present.accounts import account_rows, claim_rows
from mcp_studio.safetext import safe
from mcp_studio.tui.app import StudioApp
from mcp_studio.tui.screens.dialog import Choice, Confirm, Dialog
from mcp_studio.tui.screens.sign_in import sign_in, signs_in
from mcp_studio.tui.views.find import Findable
from mcp_studio.tui.views.glyphs import glyphs
from mcp_studio.tui.views.json_view import JsonView

Parts = list[str | tuple[str, str]]
_LABEL = 12
_SOON = 60
"""Seconds before a token's end from which on that stands out."""


def show_token(app: StudioApp, server: str) -> None:
    """Show the token of a server, where it has any."""
    if signs_in(app, app.studio.manager.config(server)):
        app.push_screen(TokenView(server))


class TokenView(Dialog[None]):
    """Drawn anew every second; the token itself is shown only after asking, and hidden when the dialog is left."""

    DEFAULT_CLASSES = "-large"
    choices = (
        Choice("refresh", "Renew it", "primary"),
        Choice("sign_in", "Sign in", "primary"),
        Choice("reveal", "Show the token"),
        Choice("copy", "Copy the token"),
        Choice("sign_out", "Sign out"),
        Choice("forget", "Forget the tokens"),
        Choice("forget_client", "Forget the client too"),
        Choice("back", "Close"),
    )
    facts = getters.query_one("#facts", Static)
    note = getters.query_one("#note", Static)

    def __init__(self, server: str) -> None:
        super().__init__()
        self._server = server
        self._account: Account | None = None
        self._read = False
        self._secret = ""
        self._text = ""
        self._claims = JsonView()

    def heading(self) -> str:
        return f"Token of {self._server}"

    def body(self) -> Iterable[Widget]:
        yield Static(id="facts", classes="gap", markup=False)
        yield Findable(self._claims)
        yield Static(id="note", markup=False)

    def on_mount(self) -> None:
        self.query_one("#back").focus()
        self.run_worker(self._look(), group="look", exclusive=True)
        self.set_interval(1, self._show)

    def on_screen_suspend(self) -> None:
        """Another dialog lies over it."""
        self._hide()

    def on_unmount(self) -> None:
        self._secret = ""

    # What is shown

    async def _look(self) -> None:
        try:
            self._account = await self.app.studio.signing.account(self._server)
        except StudioError as error:
            self._fail(error)
            return
        self._read = True
        account = self._account
        claims = _claims(account) if account is not None else {}
        self.query_one(Findable).display = bool(claims)
        self._claims.show(dumps(claims))
        for choice in self.choices:
            needs_none = choice.action in ("sign_in", "back")
            self.query_one(f"#{choice.action}", Button).disabled = account is None and not needs_none
        self._show()

    def _show(self) -> None:
        if not self._read:
            return
        content = Content.assemble(*self._parts())
        if content.plain != self._text:
            self._text = content.plain
            self.facts.update(content)

    def _parts(self) -> Parts:
        account = self._account
        if account is None:
            return [f"There is no sign-in to {safe(self._server, 60)}."]
        parts: Parts = []
        if self._secret:  # first, as a small screen has no room for all
            parts += [("The token itself\n", "bold $accent"), safe(self._secret, 20_000), "\n\n"]
        return [*parts, *_facts(account), *_claim_rows(account)]

    # What the person does

    def action_refresh(self) -> None:
        self._do(self._refresh())

    async def _refresh(self) -> None:
        await self.app.studio.signing.refresh(self._server)
        self._secret = ""
        await self._look()
        self._say("The token is renewed.")

    def action_sign_out(self) -> None:
        text = "The tokens are revoked where that is offered, and forgotten in any case."
        self._ask(f"Sign out of {self._server}?", text, "Sign out", self._sign_out())

    async def _sign_out(self) -> None:
        told = await self.app.studio.signing.sign_out(self._server)
        await self._look()
        self._say(told)

    def action_forget(self) -> None:
        text = "Nobody is told: the tokens stay valid until they expire."
        self._ask(f"Forget the tokens of {self._server}?", text, "Forget", self._forget(client=False))

    def action_forget_client(self) -> None:
        text = (
            "The client that was registered at its authorization server goes too: the next sign-in registers a new one."
        )
        self._ask(f"Forget tokens and client of {self._server}?", text, "Forget both", self._forget(client=True))

    async def _forget(self, *, client: bool) -> None:
        await self.app.studio.signing.forget(self._server, client=client)
        await self._look()
        self._say("Tokens and client are forgotten." if client else "The tokens are forgotten.")

    def action_reveal(self) -> None:
        """Show the token, after asking, or hide it."""
        if self._secret:
            self._hide()
            return
        text = "Whoever has it can do there what you can. It is hidden again when you leave, and goes into no file."
        self._ask("Show the access token on the screen?", text, "Show it", self._reveal())

    async def _reveal(self) -> None:
        self._secret = await self._token()
        self._show()

    def action_copy(self) -> None:
        text = "Other programs can read it in the clipboard, and some keep a history."
        self._ask("Copy the access token?", text, "Copy it", self._copy())

    async def _copy(self) -> None:
        self.app.copy(await self._token(), "the token")

    async def _token(self) -> str:
        studio = self.app.studio
        return await studio.signing.accounts.token(studio.manager.config(self._server))

    def action_sign_in(self) -> None:
        self.dismiss(None)
        sign_in(self.app, self._server)

    def _ask(self, title: str, text: str, yes: str, work: Coroutine[Any, Any, None]) -> None:
        def answered(sure: bool | None) -> None:
            if sure:
                self._do(work)
            else:
                work.close()

        self.app.push_screen(Confirm(title, text, yes, destroys=True), answered)

    def _do(self, work: Coroutine[Any, Any, None]) -> None:
        async def do() -> None:
            try:
                await work
            except StudioError as error:
                self._fail(error)

        self.run_worker(do(), group="do", exclusive=True)

    def _hide(self) -> None:
        self._secret = ""
        self._show()

    def _fail(self, error: StudioError) -> None:
        self.note.update(Content.styled(safe(f"{error.message} {error.hint}", 800), "$state-failed"))

    def _say(self, text: str) -> None:
        self.note.update(Content.styled(safe(text, 800), "$state-ready"))


def _row(label: str, text: str, look: str = "") -> Parts:
    return [(f"{label:<{_LABEL}}", "$quiet"), (text, look), "\n"]


def _facts(account: Account) -> Parts:
    """Everything but the claims and the token itself."""
    now = time.time()
    looks = {"issuer": "bold"}
    if account.expires and account.expires - now < _SOON:
        looks["expires"] = "$state-busy" if account.refreshable or account.expires > now else "$state-failed"
    return [part for label, text in account_rows(account, now) for part in _row(label, text, looks.get(label, ""))]


def _claim_rows(account: Account) -> Parts:
    """What the registered claims say, in words; all of them are in the viewer below."""
    parts: Parts = []
    for title, found in (("Access token", account.claims), ("Identity token", account.id_claims)):
        if found:
            parts += [(f"\n{title}; its signature is not checked by the studio\n", "bold $accent")]
            parts += [part for label, text in claim_rows(found, time.time()) for part in _row(label, text)]
    if not account.claims:
        parts.append((f"\n{glyphs().dot} The access token is opaque: it says nothing here.\n", "$quiet"))
    return parts


def _claims(account: Account) -> dict[str, Json]:
    both: dict[str, Json] = {"access_token": account.claims, "id_token": account.id_claims}
    return {name: value for name, value in both.items() if value}
