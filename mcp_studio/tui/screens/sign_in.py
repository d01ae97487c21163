"""Signing in to a server: every step as it happens, and the person's part in it. It continues if the person leaves."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from typing import ClassVar
from weakref import WeakKeyDictionary

from textual import getters, on, work
from textual.content import Content
from textual.widgets import Button, Input, OptionList, Static
from textual.widgets.option_list import Option

from mcp_studio.auth.hints import port_kept
from mcp_studio.auth.model import AuthStep
from mcp_studio.auth.signin import SignIn
from mcp_studio.config.model import ServerConfig, VaultKind
from mcp_studio.errors import StudioError
from mcp_studio.present import browser as browsers
from mcp_studio.present import connections, questions, units
from mcp_studio.present.accounts import validity
from mcp_studio.safetext import safe
from mcp_studio.session.inbox import Answer, InputRequest
from mcp_studio.session.state import Status
from mcp_studio.tui import server_files
from mcp_studio.tui.app import StudioApp
from mcp_studio.tui.screens.dialog import Choice, Choose, Dialog, Item, Parts, Widgets, fact, underlined
from mcp_studio.tui.screens.token_view import TokenView
from mcp_studio.tui.views.rows import Findable, Line, TextView, VirtualList, glyphs, spread
from mcp_studio.urls import judge

_NO_TOKENS = {
    "stdio": "It is a program on this machine: it takes credentials from its environment.",
    "none": "Its entry says that nobody signs in: [auth] kind is none.",
    "": "Its credentials are configured: headers, or a name in its address.",
}
_PLACES: Sequence[Item[VaultKind]] = (
    Item("The keyring of the system", "keyring"),
    Item("Memory: forgotten when the studio ends", "memory"),
    Item("An encrypted file from now on: requires a passphrase", "file"),
)
_WARNINGS: dict[VaultKind, str] = {
    "memory": "Tokens are stored in memory only: after the next start you have to sign in again.",
    "file": "Tokens are stored in an encrypted file, not in the keyring of the system.",
}
_STEPS = {
    "done": ("ok", "ok", ""), "running": ("half", "warn", "strong"), "asking": ("waiting", "accent", "strong"),
    "failed": ("bad", "bad", "strong"), "waiting": ("off", "dim", "dim"), "skipped": ("dash", "dim", ""),
}  # fmt: skip
"""By state of a step: its glyph, the glyph's look, and the look of the title."""
_TITLE = 25
"""Cells of a step's title; the outcome stands beside it."""
_LONGEST, _BODY, _LINES = 10_000, 4_000, 12
"""Characters of an address and of a request, and lines of the answer to the failed request."""


def signs_in(app: StudioApp, config: ServerConfig) -> bool:
    """Whether a server has a sign-in; if it has none, say why."""
    if config.signs_in:
        return True
    why = _NO_TOKENS[config.kind if config.kind == "stdio" else config.auth.kind]
    app.say(f"There is nothing to sign in to at {safe(config.name, 60)}. {why}", "warning")
    return False


def sign_in(app: StudioApp, server: str) -> None:
    """Sign in to a server, or show the sign-in that is running."""
    if signs_in(app, config := app.studio.manager.config(server)):
        app.push_screen(SignInDialog(config))


def show_token(app: StudioApp, server: str) -> None:
    """Show the token of a server; from there the person can sign in."""
    if signs_in(app, app.studio.manager.config(server)):
        app.push_screen(TokenView(server), lambda wanted: sign_in(app, server) if wanted else None)


class SignInDialog(Dialog[Answer]):
    """Follows one sign-in; answers the request of the inbox that waits for it, if there is one."""

    DEFAULT_CLASSES = "-broad"
    choices = (
        Choice("begin", "Sign in", "primary"), Choice("step_by_step", "Step by step"),
        Choice("send", "Send it", "primary"), Choice("send_all", "Send all"),
        Choice("open_page", "Open page", "primary"), Choice("take", "Use it", "primary"), Choice("copy", "Copy"),
        Choice("keep", "Keep tokens elsewhere"), Choice("token", "Token"), Choice("exchanges", "Exchanges"),
        Choice("cancel", "Cancel"), Choice("decline", "Decline", answer=Answer("decline")), Choice("back", "Later"),
    )  # fmt: skip
    every = 0.2
    offered: ClassVar[dict[str, tuple[str, ...]]] = {
        "before": ("begin", "step_by_step", "keep"),
        "refused": ("keep",),
        "running": ("exchanges", "cancel"),
        "paused": ("send", "send_all", "exchanges", "cancel"),
        "browser": ("open_page", "copy", "exchanges", "cancel"),
        "elsewhere": ("copy", "exchanges", "cancel"),
        "choosing": ("take", "cancel"),
        "client": ("take", "copy", "exchanges", "cancel"),
        "failed": ("begin", "keep", "exchanges"),
        "cancelled": ("begin", "keep", "exchanges"),
        "done": ("back", "token", "exchanges"),
    }
    """The buttons by state, the first being the default; Close or Later is always there."""
    drafts: ClassVar[WeakKeyDictionary[SignIn, dict[str | None, str]]] = WeakKeyDictionary()
    """The texts in the fields of each sign-in, which are there again after Later; never on disk."""
    steps = getters.query_one("#steps", VirtualList)
    issuers = getters.query_one(OptionList)
    client_id = getters.query_one("#client-id", Input)
    client_secret = getters.query_one("#client-secret", Input)
    redirect = getters.query_one("#redirect", Input)

    def __init__(self, config: ServerConfig, request: InputRequest | None = None) -> None:
        waits = f" · {request.subject} is waiting" if request and request.subject else ""
        super().__init__(f"Sign in to {config.name}{waits}")
        self._config, self._request = config, request
        self._run: SignIn | None = None
        self._kept = ""
        """The place where the tokens will be stored, as text; empty while that is unknown."""
        self._refusal: StudioError | None = None
        """Why the tokens cannot be stored in that place."""
        self._state = ""

    @property
    def default(self) -> str:
        return self.offered[self._at][0]

    def body(self) -> Widgets:
        yield Static(id="about", classes="quiet gap", markup=False)
        yield VirtualList(_draw, key=lambda step: step.name, id="steps")
        yield Input(placeholder="where the browser ends up, if it cannot come back", id="redirect", compact=True)
        yield Static(id="note", markup=False)
        yield Static(id="card")
        yield OptionList()
        yield Input(placeholder="client id", id="client-id", compact=True)
        yield Input(placeholder="client secret, if it has one", id="client-secret", password=True, compact=True)

    def on_mount(self) -> None:
        if (running := self.app.studio.sign_ins.running(self._config.name)) is not None:
            self._follow(running)
        else:
            self.run_worker(self._look_up_place(), group="place", exclusive=True)

    def _follow(self, run: SignIn) -> None:
        self._run = run
        for field in self.query(Input):
            field.value = self.drafts.get(run, {}).get(field.id, "")
        self.look()

    @on(Input.Changed)
    def keep_draft(self, event: Input.Changed) -> None:
        if self._run is not None:
            self.drafts.setdefault(self._run, {})[event.input.id] = event.value

    # What is known around it

    @property
    def _status(self) -> Status | None:
        """The state of the server; None if the server was removed meanwhile."""
        manager = self.app.studio.manager
        return manager.status(self._config.name) if self._config.name in manager.names() else None

    @property
    def _reason(self) -> str:
        """The message of the server, or of the waiting call; foreign text."""
        if self._request is not None:
            return " ".join(filter(None, (self._request.message, *self._request.reasons)))
        status = self._status
        if status is not None and status.state == "ready":
            return "The server is connected. Signing in replaces the tokens that it has."
        return status.error.message if status is not None and status.error else ""

    @property
    def _warning(self) -> str:
        """A warning if tokens are not stored in the system's keyring."""
        return "" if self._config.auth.alone else _WARNINGS.get(self.app.studio.sign_ins.accounts.keeping, "")

    @property
    def _has_browser(self) -> bool:
        return browsers.is_there(browser=self.app.studio.config.settings.browser)

    async def _look_up_place(self) -> None:
        """Find out whether tokens can be stored, before anything is sent."""
        try:
            self._kept, self._refusal = await self.app.studio.sign_ins.accounts.place(self._config), None
        except StudioError as error:
            self._kept, self._refusal = "", error
        self.look()

    # Showing

    @property
    def _at(self) -> str:
        """The state of the sign-in, or the state before there is one; `elsewhere`: no browser can be opened here."""
        if (run := self._run) is not None:
            return "elsewhere" if run.state == "browser" and not (run.opened or self._has_browser) else run.state
        return "before" if self._refusal is None else "refused"

    def look(self) -> None:
        left = questions.time_left(self._request) if self._request is not None else ""
        insecure = connections.INSECURE if self._config.tls.insecure else ""
        about = " · ".join(filter(None, (safe(self._config.url, 1_000), left, insecure)))
        self.put("about", about)
        self.steps.display = self._run is not None
        self.steps.show(self._run.steps if self._run is not None else ())
        self.put("card", *self._card())
        if self._at != self._state:
            self._enter(self._at)

    def _enter(self, at: str) -> None:
        """Show the buttons and fields of another state, and move the focus."""
        self._state = at
        offered = (*self.offered[at], "back")
        if self._request is not None and self._run is None:
            offered = (*offered, "decline")
        self.show_buttons(**{choice.action: choice.action in offered for choice in self.choices})
        back = "Close" if self._run is not None and self._run.over else "Later"
        self.query_one("#back", Button).label = underlined(back, "l")
        self.issuers.display = at == "choosing"
        self.client_id.display = self.client_secret.display = at == "client"
        self.redirect.display = at in ("browser", "elsewhere")
        if at == "choosing" and self._run is not None:
            self.issuers.set_options(Option(Content(safe(issuer, 600))) for issuer in self._run.choices)
            self.issuers.highlighted = 0
        self.note("")
        focus = {"choosing": self.issuers, "client": self.client_id}.get(at)
        self.set_focus(focus or self.query_one(f"#{offered[0]}", Button))

    def _card(self) -> Parts:
        """The facts and instructions of the state, below the steps."""
        run = self._run
        if run is None:
            return self._before()
        match run.state:
            case "paused" if (following := run.next_request) is not None:
                parts: Parts = [("Next  ", "$quiet"), (safe(following.purpose, 200), "bold"), "\n"]
                parts += [(safe(following.method, 20), "bold $accent"), " ", safe(following.url, _LONGEST), "\n"]
                return [*parts, (safe(following.request, _BODY, lines=True), "$quiet"), "\n"]
            case "browser":
                return _browser(run, has_browser=self._has_browser)
            case "choosing":
                count = units.plural(len(run.choices), "authorization server")
                return [f"The server names {count}. Which one do you use?\n"]
            case "client":
                return _client(run)
            case "failed" | "cancelled":
                return _ended(run)
            case "done":
                return [*_done(run, self._status), *_warnings(self._warning)]
            case _:
                return []

    def _before(self) -> Parts:
        """The card before the sign-in begins."""
        parts: Parts = [f"{safe(reason, 1_000)}\n"] if (reason := self._reason) else []
        parts += fact("scopes", " ".join(self._config.auth.scopes))
        if self._refusal is not None:
            parts.append((f"{glyphs().bad} {safe(self._refusal.message, 600)}\n", "$state-failed"))
            parts.append("Tokens can be kept in memory or in an encrypted file instead.\n")
            return [*parts, (f"{safe(self._refusal.hint, 800, lines=True).replace('`', '')}\n", "$quiet")]
        how = "Your browser opens." if self._has_browser else "You get an address to open in a browser elsewhere."
        how = "No person is needed: the server's entry says how." if self._config.auth.alone else how
        parts += [*fact("stored in", self._kept), *_warnings(self._warning)]
        return [*parts, (f"Nothing has been sent yet. {how}\n", "$quiet")]

    # What the person does

    @on(VirtualList.Chosen, "#steps")
    def action_exchanges(self) -> None:
        """Show the HTTP exchanges of the step under the cursor."""
        step = self.steps.row
        if step is None or not step.exchanges:
            self.note("Nothing was sent for this step.", "bad")
        else:
            self.app.push_screen(Exchanges(step))

    def action_submit(self) -> None:
        """Use the typed text, or else press the first button of the state."""
        button = self.query_one(f"#{self.default}", Button)
        self.app.after_typing(self.action_take if isinstance(self.focused, Input) else button.press)

    def action_step_by_step(self) -> None:
        """Begin, and stop before each request."""
        self.action_begin(step_by_step=True)

    @work(group="begin", exclusive=True)
    async def action_begin(self, *, step_by_step: bool = False) -> None:
        sign_ins = self.app.studio.sign_ins
        with self.noting():
            if not self._config.auth.alone:  # ask for the passphrase of an encrypted file before the browser opens
                await sign_ins.accounts.unlock()
            self._follow(sign_ins.sign_in(self._config.name, step_by_step=step_by_step))

    def action_send(self) -> None:
        if self._run is not None:
            self._run.go_on()

    def action_send_all(self) -> None:
        if self._run is not None:
            self._run.run_through()

    @work(group="page", exclusive=True)
    async def action_open_page(self) -> None:
        if (run := self._run) is not None and not await run.open_page():
            self.note(f"Not opened: {run.refusal or 'no browser answered. Copy the address.'}", "bad")

    def action_copy(self) -> None:
        """Copy the page's address; or the redirect URI, if the person must register a client with it."""
        if self._run is not None:
            self.app.copy(self._run.redirect_uri if self._run.state == "client" else self._run.authorization_url)

    @on(Input.Submitted)
    @on(OptionList.OptionSelected)
    def action_take(self) -> None:
        """Use the typed or chosen value."""
        if (run := self._run) is None:
            return
        with self.noting():  # what is wrong stays to be put right
            if run.state == "browser" and (address := self.redirect.value.strip()):
                run.paste(address)
            elif run.state == "client" and (client := self.client_id.value.strip()):
                run.give_client(client, self.client_secret.value)
            elif run.state == "choosing" and self.issuers.highlighted is not None:
                run.choose(run.choices[self.issuers.highlighted])
            self.note("")
            for field in self.query(Input):
                field.value = ""

    @work(group="keep", exclusive=True)
    async def action_keep(self) -> None:
        """Choose where tokens are kept."""
        studio = self.app.studio
        now = "memory" if self._refusal is not None else studio.sign_ins.accounts.keeping
        lacking = self._refusal is not None and studio.sign_ins.accounts.keeping == "keyring"
        place = await self.app.push_screen_wait(Choose("Where tokens are kept", _PLACES[lacking:], now))
        if not place:
            return
        if place == "file" and studio.config.settings.secrets != "file":
            file = await server_files.keep_secrets_in_file(studio)
            self.app.say(f'{file} says so now: [secrets] store = "file".')
        studio.sign_ins.accounts.keep_in(place)
        self._run = None
        await self._look_up_place()

    def action_token(self) -> None:
        show_token(self.app, self._config.name)

    def action_cancel(self) -> None:
        """Cancel the sign-in; nothing is stored."""
        if self._run is not None:
            self._run.cancel()

    def action_back(self) -> None:
        """Leave a field, or else the dialog; a running sign-in continues."""
        if isinstance(self.focused, Input):
            self.query_one("#back").focus()
            return
        if self._run is not None and not self._run.over:
            self.app.say(f"Signing in to {safe(self._config.name, 60)} goes on; its action Sign in shows it.")
        elif self._request is not None and not self._request.reply.done():
            self.app.say(f"The request stays pending; {self.app.key_of('pending')} opens it again.")
        self.dismiss(None)


class Exchanges(Dialog[None]):
    """The HTTP exchanges of one step as a text, the newest last."""

    DEFAULT_CLASSES = "-large"
    choices = (Choice("back", "Close"), Choice("copy", "Copy"))

    def __init__(self, step: AuthStep) -> None:
        super().__init__(f"{step.title}: {units.plural(len(step.exchanges), 'exchange')}")
        self._step = step

    def body(self) -> Widgets:
        if text := " ".join(filter(None, (self._step.detail, self._step.hint))):
            yield Static(Content(safe(text, 2_000)), classes="gap")
        signs, texts = glyphs(), list[str]()
        for one in self._step.exchanges:
            request = f"{signs.sent} {one.method} {one.url}\n{one.request.rstrip()}"
            status = f"{signs.received} {one.status or 'no answer'} after {units.duration(one.ms)}"
            texts.append(f"{one.purpose}\n\n{request}\n\n{status}\n{one.response.rstrip()}")
        yield Findable(TextView("\n\n".join(texts)))


# The cards of the states


def _draw(step: AuthStep, width: int, selected: bool) -> Line:
    name, look, title = _STEPS[step.state]
    # A failure is explained below the steps, with the failed request.
    said = "" if step.state == "failed" else safe(f"{step.detail} {step.hint}".strip(), 900)
    right = f" {len(step.exchanges)} {glyphs().folded}" if step.exchanges else ""
    left = [(f"{getattr(glyphs(), name)} ", look), (f"{step.title:<{_TITLE}}", title), (said, "dim")]
    return spread(left, [(right, "dim")], width)


def _warnings(*texts: str) -> Parts:
    return [(f"{glyphs().warning} {safe(text, 400)}\n", "$state-busy") for text in dict.fromkeys(texts) if text]


def _browser(run: SignIn, *, has_browser: bool) -> Parts:
    """Where the page leads, and how the browser comes back."""
    page = judge(run.authorization_url)
    seconds = max(0, int(run.until - time.monotonic()))
    left = f"  {seconds // 60}:{seconds % 60:02} left" if run.until else ""
    where = "Your browser has the page" if run.opened else "The page waits for you"
    parts: Parts = [(where, "bold"), (f"{left}\n", "$quiet"), *fact("host", page.host or "none", "bold $accent")]
    parts += fact("network", page.ascii_host if page.ascii_host != page.host else "", "bold $accent")
    parts += _warnings(*page.warnings, *run.warnings)
    if refusal := page.refusal or run.refusal:
        parts.append((f"{glyphs().bad} Not opened: {safe(refusal, 400)}\n", "$state-failed"))
    parts += fact("redirect", run.redirect_uri)
    far = not (has_browser or run.opened)  # another machine's browser: what to copy, and the two ways back
    if far:
        parts += _warnings("No browser can be opened here: copy the address, and open it on your own machine.")
    if far and run.started_callback and (tunnel := browsers.ssh_line(run.redirect_uri, os.environ)):
        parts += [("To let it come back by itself, run this there first:\n  ", "$quiet"), (tunnel, "bold"), "\n"]
    if far or not run.started_callback:
        paste = "Paste above the address that the browser ends up at. It cannot connect there, and need not.\n"
        parts.append((paste, "$quiet"))
    return [*parts, ("address\n", "$quiet"), safe(page.url, _LONGEST), "\n"]


def _client(run: SignIn) -> Parts:
    """Why a client is needed, and the redirect URI for registering one."""
    reason = safe(run.client_reason, 600) or "A client is needed there, and none is configured."
    if not run.redirect_uri:
        return [reason, "\n"]
    keeps = f"{kept}.\n" if (kept := port_kept(run.redirect_uri)) else ""
    how = f"Register one there with this redirect, and enter its id here: {safe(run.redirect_uri, 400)}\n{keeps}"
    return [reason, "\n", (how, "$quiet")]


def _ended(run: SignIn) -> Parts:
    """The reason of the failure, what should have been sent, and what was sent."""
    mark, look = (glyphs().bad, "$state-failed") if run.state == "failed" else (glyphs().dot, "$quiet")
    message, hint = (run.error.message, run.error.hint) if run.error is not None else ("The sign-in was cancelled.", "")
    parts: Parts = [(f"{mark} {safe(message, 1_500, lines=True)}\n", look)]
    failed = [step for step in run.steps if step.state == "failed"]
    hints = dict.fromkeys((hint, *(step.hint for step in failed)))
    parts += [f"{safe(hint, 1_000, lines=True)}\n".replace("`", "") for hint in hints if hint]
    for newest in failed[0].exchanges[-1:] if failed else ():
        sent = f"{safe(newest.method, 20)} {safe(newest.url, 600)} {glyphs().sent} {newest.status or 'no answer'}"
        beginning = "\n".join(safe(newest.response, 1_200, lines=True).split("\n")[:_LINES])
        parts += [f"\n{sent}\n", (f"{beginning}\n", "$quiet")]
    return [*parts, "Nothing was stored.\n"]


def _done(run: SignIn, status: Status | None) -> Parts:
    parts: Parts = [(f"{glyphs().ok} Signed in to {safe(run.server, 60)}.\n", "bold $state-ready")]
    if status is not None and status.state != "ready":  # a correct token may still not satisfy the server
        look = "$state-failed" if connections.tone(status) == "bad" else "$quiet"
        parts.append((f"{connections.state_words(status)}\n", look))
    if (account := run.account) is not None:
        parts += [*fact("scopes", " ".join(account.scopes) or "none are named"), *fact("token", validity(account))]
        parts += fact("stored in", account.place)
    return parts
