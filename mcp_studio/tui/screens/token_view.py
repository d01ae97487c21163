"""The token of a server: what it allows, for how long, what it says of itself; and what can be done with it."""

from __future__ import annotations

import time
from collections.abc import Coroutine, Iterable
from typing import TYPE_CHECKING, cast

from textual.content import Content
from textual.widget import Widget
from textual.widgets import Static

from mcp_studio.auth.model import Account
from mcp_studio.errors import StudioError
from mcp_studio.jsontext import Json, dumps
from mcp_studio.present.accounts import account_rows, claim_rows
from mcp_studio.safetext import safe
from mcp_studio.tui import late
from mcp_studio.tui.actions import spell
from mcp_studio.tui.screens.dialog import Box, Dialog
from mcp_studio.tui.views.findable import Findable
from mcp_studio.tui.views.glyphs import glyphs
from mcp_studio.tui.views.hanging import Hanging
from mcp_studio.tui.views.json_view import JsonView
from mcp_studio.tui.views.messages import Copied

if TYPE_CHECKING:
    from mcp_studio.tui.app import StudioApp
    from mcp_studio.tui.screens.signing import Signing

Part = str | tuple[str, str]

_LABEL = 12


def _row(label: str, text: str, look: str = "") -> list[Part]:
    return [(f"{label:<{_LABEL}}", "$quiet"), (text, look), "\n"]


def account_parts(account: Account, now: float | None = None) -> list[Part]:
    """Everything but the claims and the token itself."""
    now = time.time() if now is None else now
    looks = {"issuer": "b"}
    if account.expires and account.expires - now < 60:
        looks["expires"] = "$state-busy" if account.refreshable or account.expires > now else "$state-failed"
    return [part for label, text in account_rows(account, now) for part in _row(label, text, looks.get(label, ""))]


def claim_parts(account: Account, now: float | None = None) -> list[Part]:
    """What the registered claims say, in words; all of them are in the viewer below."""
    now = time.time() if now is None else now
    parts: list[Part] = []
    for title, found in (("Access token", account.claims), ("Identity token", account.id_claims)):
        if found:
            parts += [(f"\n{title}, as it stands there: its signature is not checked by the studio\n", "b $accent")]
            parts += [part for label, text in claim_rows(found, now) for part in _row(label, text)]
    if not account.claims:
        parts += [(f"\n{glyphs().dot} The access token is no JWT, or an opaque one: it says nothing here.\n", "$quiet")]
    return parts


def all_claims(account: Account) -> dict[str, Json]:
    """The claims of both tokens as one value, for the viewer."""
    both: dict[str, Json] = {"access_token": account.claims, "id_token": account.id_claims}
    return {name: value for name, value in both.items() if value}


class TokenView(Dialog[None], scope="token"):
    """Told anew every second; the token itself is shown only after asking, and hidden when the dialog is left."""

    def __init__(self, signing: Signing, server: str) -> None:
        super().__init__()
        self._signing = signing
        self._server = server
        self._account: Account | None = None
        self._read = False
        self._secret = ""
        self._said = ""
        self._text = Hanging()
        self._frame = Box(self._text, classes="card")
        self._frame.can_focus = True
        self._view = Findable(JsonView(), classes="viewer")
        self._note = Static(classes="note")

    def heading(self) -> Content:
        """Whose."""
        loud = self._signing.loud(self._server)
        mark = [(f"  {glyphs().warning} {loud}", "$state-failed")] if loud else []
        return Content.assemble(f"Token of {safe(self._server, 60)}", *mark)

    def body(self) -> Iterable[Widget]:
        """What is known, and the claims as JSON."""
        yield self._frame
        yield self._view
        yield self._note

    def keys_line(self) -> Content:
        """Only what can be done now."""
        if self._account is not None or not self._read:
            return super().keys_line()
        close = (self._key("token-close"), "b $primary"), " Close"
        return Content.assemble((self._key("token-sign-in"), "b $primary"), " Sign in   ", *close)

    def on_mount(self) -> None:
        """Read what is known; the time goes on."""
        self._view.display = False
        self._frame.focus()
        self._look_anew()
        self.set_interval(1, self._show)

    def on_screen_suspend(self) -> None:
        """Another dialog lies over it."""
        self._hide()

    def on_unmount(self) -> None:
        """Nothing of the token stays."""
        self._secret = ""

    # What is shown

    def _look_anew(self) -> None:
        self.run_worker(self._look(), group="look", exclusive=True)

    async def _look(self) -> None:
        try:
            account = await self._signing.studio.signing.account(self._server)
        except StudioError as error:
            self._tell(error)
            return
        claims = all_claims(account) if account is not None else {}
        changed = not self._read or self._account is None or all_claims(self._account) != claims
        self._account, self._read = account, True
        self.query_one("#box").border_subtitle = self.keys_line()
        if changed:
            self._view.display = bool(claims)
            self._view.view.set_json(dumps(claims))
        self._show()

    def _show(self) -> None:
        if not self.is_attached or not self._read:
            return
        content = Content.assemble(*self._parts())
        if content.plain != self._said:
            self._said = content.plain
            self._text.show(content)

    def _parts(self) -> list[Part]:
        account = self._account
        if account is None:
            key = self._key("token-sign-in")
            return [f"There is no sign-in to {safe(self._server, 60)}.\n", (f"{key}  signs in.\n", "$quiet")]
        facts, claims = account_parts(account), claim_parts(account)
        key = self._key("token-reveal")
        if self._secret:  # first, as a small screen has no room for all
            token: list[Part] = [("The token itself\n", "b $accent"), safe(self._secret, 20_000), "\n"]
            return [*token, (f"{key} hides it again.\n\n", "$quiet"), *facts, *claims]
        return [*facts, ("token       ", "$quiet"), "•" * 8, (f"  {key} shows it\n", "$quiet"), *claims]

    def on_copied(self, event: Copied) -> None:
        """Put it on the clipboard."""
        event.stop()
        self.app.copy_to_clipboard(event.text)

    # What the person does

    def action_refresh(self) -> None:
        """Renew it now."""
        if self._has_one():
            self._do("Renewing …", self._refresh())

    async def _refresh(self) -> None:
        self._account = await self._signing.studio.signing.refresh(self._server)
        self._hide()
        await self._look()
        self._say("The token is renewed.", "ok")

    def action_sign_out(self) -> None:
        """Revoke and forget, after asking."""
        name = safe(self._server, 60)
        text = f"Sign out of {name}? The tokens are revoked where that is offered, and forgotten in any case."
        self._ask("Sign out", text, lambda: self._do("Signing out …", self._sign_out()))

    async def _sign_out(self) -> None:
        told = await self._signing.studio.signing.sign_out(self._server)
        self._hide()
        await self._look()
        self._say(told, "ok")

    def action_forget(self) -> None:
        """Forget the tokens, after asking."""
        text = f"Forget the tokens of {safe(self._server, 60)}? Nobody is told: they stay valid until they expire."
        self._ask("Forget", text, lambda: self._do("Forgetting …", self._forget(client=False)))

    def action_forget_client(self) -> None:
        """Forget tokens and client, after asking."""
        text = (
            f"Forget the tokens of {safe(self._server, 60)}, and also the client that was registered at its "
            "authorization server? The next sign-in registers a new one."
        )
        self._ask("Forget all", text, lambda: self._do("Forgetting …", self._forget(client=True)))

    async def _forget(self, *, client: bool) -> None:
        await self._signing.studio.signing.forget(self._server, client=client)
        self._hide()
        await self._look()
        self._say("Tokens and client are forgotten." if client else "The tokens are forgotten.", "ok")

    def action_reveal(self) -> None:
        """Show the token, after asking, or hide it."""
        if self._secret:
            self._hide()
            return
        text = (
            "Show the access token on the screen? Whoever has it can do there what you can. "
            "It is hidden again when you leave, and goes into no file."
        )
        self._ask("Show the token", text, lambda: self._do("", self._reveal()))

    async def _reveal(self) -> None:
        self._secret = await self._token()
        self._show()
        self._frame.scroll_home(animate=False)

    def action_copy(self) -> None:
        """Copy the claim under the cursor, else the token itself after asking."""
        if self._view.view.has_focus:
            self._view.view.action_copy()
            return
        text = "Copy the access token to the clipboard? Other programs can read it there, and some keep a history."
        self._ask("Copy the token", text, lambda: self._do("", self._copy()))

    async def _copy(self) -> None:
        cast("StudioApp", self.app).copy_secret(await self._token())

    async def _token(self) -> str:
        return await self._signing.accounts.token(self._signing.studio.manager.config(self._server))

    def action_sign_in(self) -> None:
        """Sign in anew."""
        self.dismiss(None)
        self._signing.open(self._server)

    def action_close(self) -> None:
        """Leave."""
        self.dismiss(None)

    def _ask(self, heading: str, text: str, then: object) -> None:
        def answered(yes: bool | None) -> None:
            if yes and callable(then):
                then()

        if self._has_one():
            self.app.push_screen(late.confirm(heading, text), answered)

    def _has_one(self) -> bool:
        if self._account is None:
            self._say(f"There is none. {self._key('token-sign-in')} signs in.", "bad")
        return self._account is not None

    def _do(self, words: str, work: Coroutine[None, None, None]) -> None:
        self._say(words, "")

        async def safely() -> None:
            try:
                await work
            except StudioError as error:
                self._tell(error)

        self.run_worker(safely(), group="do", exclusive=True)

    def _hide(self) -> None:
        self._secret = ""
        self._show()

    def _tell(self, error: StudioError) -> None:
        self._say(f"{error.message} {error.hint}", "bad")

    def _say(self, text: str, tone: str) -> None:
        look = {"ok": "$state-ready", "bad": "$state-failed"}.get(tone, "$quiet")
        self._note.update(Content.styled(safe(text, 800), look))

    def _key(self, action: str) -> str:
        return spell(cast("StudioApp", self.app).key_of(action))
