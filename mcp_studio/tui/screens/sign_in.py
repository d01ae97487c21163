"""Signing in to a server: every step as it happens, and what the person does. Leaving lets it go on."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable
from typing import ClassVar, NamedTuple, cast

from textual import getters, on
from textual.content import Content
from textual.widget import Widget
from textual.widgets import Button, Input, OptionList, Static
from textual.widgets.option_list import Option

from mcp_studio.auth.model import Account, AuthExchange, AuthStep, port_kept
from mcp_studio.auth.signin import SignIn
from mcp_studio.config.model import Keeping, ServerConfig
from mcp_studio.errors import StudioError
from mcp_studio.present import browser as browsers
from mcp_studio.present import connections, questions, units
from mcp_studio.present.accounts import span
from mcp_studio.safetext import safe
from mcp_studio.session.inbox import Answer, InputRequest
from mcp_studio.session.state import Status
from mcp_studio.tui import server_files
from mcp_studio.tui.app import StudioApp
from mcp_studio.tui.screens.choose import Choose
from mcp_studio.tui.screens.dialog import Choice, Dialog, Parts
from mcp_studio.tui.screens.token import Exchanges, TokenView
from mcp_studio.tui.views.glyphs import glyphs
from mcp_studio.tui.views.line import Line, cut, fit, spread
from mcp_studio.tui.views.virtual_list import VirtualList
from mcp_studio.urls import judge

_NO_TOKENS = {
    "stdio": "It is a program on this machine: it takes credentials from its environment.",
    "none": "Its entry says that nobody signs in: [auth] kind is none.",
    "": "Its credentials are configured: headers, or a name in its address.",
}
_PLACES: tuple[tuple[Keeping, str], ...] = (
    ("keyring", "The keyring of the system"),
    ("memory", "Memory: forgotten when the studio ends"),
    ("file", "An encrypted file from now on: requires a passphrase"),
)
_WARNINGS: dict[Keeping, str] = {
    "memory": "Tokens are kept in memory only: after the next start you have to sign in anew.",
    "file": "Tokens are kept in an encrypted file, not in the keyring of the system.",
}
_GLYPHS = {
    "done": ("ok", "ok"), "running": ("half", "warn"), "asking": ("waiting", "accent"), "failed": ("bad", "bad"),
    "waiting": ("off", "dim"), "skipped": ("dash", "dim"),
}  # fmt: skip
_TITLE = 25
"""Cells of a step's title; what came out stands beside it."""
_LONGEST, _BODY, _LINES = 10_000, 4_000, 12
"""Characters of an address and of a request, and lines of the answer to which a step failed."""


class Situation(NamedTuple):
    """What is known around a sign-in before it has begun."""

    reason: str = ""
    """What the server, or the call that waits, wants; foreign."""
    scopes: tuple[str, ...] = ()
    kept: str = ""
    """Where the tokens will be kept, in words; empty while that is not known."""
    refusal: str = ""
    """Why they cannot be kept where they should be."""
    warning: str = ""
    """That they are kept in another place than the keyring of the system."""
    browser: bool = True
    """Whether a browser can be opened from here."""
    alone: bool = False
    """Whether it needs no person."""
    account: Account | None = None
    """The sign-in that is in use."""


def signs_in(app: StudioApp, config: ServerConfig) -> bool:
    """Whether there is something to sign in to at a server; where there is not, that is said."""
    if config.signs_in:
        return True
    why = _NO_TOKENS[config.kind if config.kind == "stdio" else config.auth.kind]
    app.say(f"There is nothing to sign in to at {safe(config.name, 60)}. {why}", "warning")
    return False


def sign_in(app: StudioApp, server: str) -> None:
    """Sign in to a server, or show the sign-in that goes on."""
    if signs_in(app, app.studio.manager.config(server)):
        app.push_screen(SignInDialog(server))


def show_token(app: StudioApp, server: str) -> None:
    """Show the token of a server, where it has any; from there the person can sign in."""
    if signs_in(app, app.studio.manager.config(server)):
        app.push_screen(TokenView(server), lambda wanted: sign_in(app, server) if wanted else None)


class SignInDialog(Dialog[Answer]):
    """Follows one sign-in; answers the request of the inbox that waits for it, if one does."""

    DEFAULT_CLASSES = "-large"
    DEFAULT_CSS = """
    SignInDialog {
        & #steps { height: auto; max-height: 14; margin-bottom: 1; }
        & #card { height: auto; margin-bottom: 1; }
        & Input { margin-bottom: 1; }
        & OptionList { height: auto; border: none; padding: 0; }
    }
    """
    choices = (
        Choice("begin", "Sign in", "primary"), Choice("step_by_step", "Step by step"),
        Choice("send", "Send it", "primary"), Choice("send_all", "Send all"),
        Choice("open_page", "Open page", "primary"), Choice("take", "Use it", "primary"),
        Choice("copy", "Copy"), Choice("paste", "Paste"),
        Choice("keep", "Keep tokens elsewhere"), Choice("token", "Token"), Choice("exchanges", "Exchanges"),
        Choice("cancel", "Cancel"), Choice("decline", "Decline"), Choice("back", "Later"),
    )  # fmt: skip
    offered: ClassVar[dict[str, tuple[str, ...]]] = {
        "before": ("begin", "step_by_step", "keep"),
        "refused": ("keep",),
        "running": ("exchanges", "cancel"),
        "paused": ("send", "send_all", "exchanges", "cancel"),
        "browser": ("open_page", "copy", "paste", "exchanges", "cancel"),
        "choosing": ("take", "cancel"),
        "client": ("take", "copy", "exchanges", "cancel"),
        "failed": ("begin", "exchanges"),
        "cancelled": ("begin", "exchanges"),
        "done": ("back", "token", "exchanges"),
    }
    """Buttons by state, the first is the default; the way out is in all."""
    steps = getters.query_one("#steps", VirtualList)
    card = getters.query_one("#card", Static)
    issuers = getters.query_one(OptionList)
    client_id = getters.query_one("#client-id", Input)
    client_secret = getters.query_one("#client-secret", Input)
    redirect = getters.query_one("#redirect", Input)
    problem = getters.query_one("#problem", Static)

    def __init__(self, server: str, request: InputRequest | None = None) -> None:
        super().__init__()
        self._server = server
        self._request = request
        self._config: ServerConfig | None = None
        """As it was when the dialog opened; None where the server was gone by then."""
        self._run: SignIn | None = None
        self._situation = Situation()
        self._state = ""
        self._disconnect: Callable[[], None] = lambda: None

    def heading(self) -> str:
        title = f"Sign in to {self._server}"
        return f"{title} · {self._request.subject} is waiting" if self._request and self._request.subject else title

    def body(self) -> Iterable[Widget]:
        yield Static(id="about", classes="quiet gap", markup=False)
        yield VirtualList(self._draw, key=lambda step: step.name, id="steps")
        yield Static(id="card")
        yield OptionList()
        yield Input(placeholder="client id", id="client-id", compact=True)
        yield Input(placeholder="client secret, if it has one", id="client-secret", password=True, compact=True)
        yield Input(placeholder="http://127.0.0.1:…/callback?code=…", id="redirect", compact=True)
        yield Static(id="problem", classes="bad", markup=False)

    def on_mount(self) -> None:
        self.redirect.display = False
        if self._server in self.app.studio.manager.names():
            self._config = self.app.studio.manager.config(self._server)
        self._situation = self._look_around()
        running = self.app.studio.signing.running(self._server)
        if running is not None:
            self._follow(running)
        else:
            self.run_worker(self._look_up_place(), group="place", exclusive=True)
        self._show()
        self.set_interval(1, self._show)

    def on_unmount(self) -> None:
        self._disconnect()

    # What is known around it

    @property
    def _status(self) -> Status | None:
        manager = self.app.studio.manager
        return manager.status(self._server) if self._server in manager.names() else None

    def _look_around(self) -> Situation:
        """What is known before anything has begun."""
        config, request, browser = self._config, self._request, self.app.studio.config.settings.browser
        status = self._status
        reason = ""
        if request is not None:
            reason = " ".join(filter(None, (request.message, *request.reasons)))
        elif status is not None and status.state == "needs_auth" and status.error is not None:
            reason = status.error.message
        elif status is not None and status.state == "ready":
            reason = "It is connected. This replaces a sign-in that is there already."
        alone = config is not None and config.auth.alone
        scopes = config.auth.scopes if config is not None else ()
        return Situation(reason, scopes, browser=browsers.is_there(browser=browser), alone=alone)

    async def _look_up_place(self) -> None:
        """Whether tokens can be kept is said before anything is sent."""
        signing, known = self.app.studio.signing, self._situation
        warning = "" if known.alone else _WARNINGS.get(signing.accounts.keeping, "")
        try:
            place = await signing.accounts.place(self._config) if self._config is not None else ""
            connected = not self._request and self._status is not None and self._status.state == "ready"
            account = await signing.account(self._server) if connected else None
        except StudioError as error:
            refusal = f"{error.message}\n{error.hint}".strip()
            self._situation = known._replace(kept="", refusal=refusal, warning=warning)
        else:
            self._situation = known._replace(kept=place, refusal="", warning=warning, account=account)
        self._show()

    def _follow(self, run: SignIn) -> None:
        self._disconnect()
        self._run = run
        self._disconnect = run.changed.connect(self._changed)
        self._show()

    def _changed(self, run: SignIn) -> None:
        self.call_later(self._show)

    # Showing

    @property
    def _at(self) -> str:
        """The state, with what there is before one."""
        if self._run is not None:
            return self._run.state
        return "refused" if self._situation.refusal else "before"

    def _show(self) -> None:
        if not self.is_attached:
            return
        run, at, config, status = self._run, self._at, self._config, self._status
        left = questions.left(self._request) if self._request is not None else ""
        insecure = connections.INSECURE if config is not None and config.tls.insecure else ""
        about = " · ".join(filter(None, (safe(config.url, 1_000) if config is not None else "", left, insecure)))
        self.query_one("#about", Static).update(Content(about))
        self.steps.display = run is not None
        if run is not None:
            self.steps.show(run.steps)
            self.steps.styles.height = len(run.steps)
        parts = card(run, self._situation, status) if run is not None else before(self._situation)
        self.card.update(Content.assemble(*parts))
        if at != self._state:
            self._enter(at)

    def _enter(self, at: str) -> None:
        """Another state: other buttons, other fields, another place for the focus."""
        self._state = at
        offered = (*self.offered.get(at, ("cancel",)), "back")
        if self._request is not None and self._run is None:
            offered = (*offered, "decline")
        for choice in self.choices:
            self.query_one(f"#{choice.action}", Button).display = choice.action in offered
        self.query_one("#back", Button).label = "Close" if self._run is not None and self._run.over else "Later"
        self.issuers.display = at == "choosing"
        self.client_id.display = self.client_secret.display = at == "client"
        self.redirect.display = self.redirect.display and at == "browser"
        if at == "choosing" and self._run is not None:
            self.issuers.set_options(Option(Content(safe(issuer, 600))) for issuer in self._run.choices)
            self.issuers.highlighted = 0
        self.client_secret.value = ""
        self.problem.update("")
        focus = {"choosing": self.issuers, "client": self.client_id}.get(at)
        self.set_focus(focus or self.query_one(f"#{offered[0]}", Button))

    def _draw(self, step: AuthStep, width: int, selected: bool) -> Line:
        name, look = _GLYPHS[step.state]
        strong = "strong" if step.state in ("running", "asking", "failed") else ""
        title = fit(safe(step.title, 60), _TITLE - 1, more=glyphs().more)
        right = f" {len(step.exchanges)} {glyphs().folded}" if step.exchanges else ""
        # Why a step failed stands below, with what should have been sent.
        said = "" if step.state == "failed" else safe(f"{step.detail} {step.hint}".strip(), 900)
        text = cut(said, max(0, width - _TITLE - 8), more=glyphs().more)
        look_of_title = strong or ("dim" if step.state == "waiting" else "")
        left = [(f"{getattr(glyphs(), name)} ", look), (f"{title} ", look_of_title), (text, "dim")]
        return spread(left, [(right, "dim")], width)

    # What the person does

    @on(VirtualList.Chosen, "#steps")
    def action_exchanges(self) -> None:
        """The HTTP exchanges of the step under the cursor."""
        step = self.steps.row
        if step is None or not step.exchanges:
            self._say("Nothing was sent for this step.")
        else:
            self.app.push_screen(Exchanges(step))

    def action_submit(self) -> None:
        """Take the first button of the state."""
        self.query_one(f"#{self.offered.get(self._at, ('back',))[0]}", Button).press()

    def action_begin(self, *, step_by_step: bool = False) -> None:
        self.run_worker(self._begin(step_by_step=step_by_step), group="begin", exclusive=True)

    def action_step_by_step(self) -> None:
        """Begin, and stop before each request."""
        self.action_begin(step_by_step=True)

    async def _begin(self, *, step_by_step: bool) -> None:
        signing, request = self.app.studio.signing, self._request
        try:
            if not self._situation.alone:  # the passphrase of an encrypted file comes before the browser
                await signing.accounts.unlock()
            if request is not None and request.sign_in is not None:
                run = request.sign_in(step_by_step=step_by_step)
            else:
                run = signing.sign_in(self._server, step_by_step=step_by_step)
        except StudioError as error:
            self._say(f"{error.message} {error.hint}")
        else:
            self._follow(run)

    def _say(self, text: str) -> None:
        self.problem.update(Content(safe(text, 800)))
        self.call_after_refresh(self.problem.scroll_visible, animate=False)

    def action_send(self) -> None:
        """Send the request that is shown."""
        if self._run is not None and self._run.state == "paused":
            self._run.go_on()

    def action_send_all(self) -> None:
        if self._run is not None:
            self._run.run_through()

    def action_open_page(self) -> None:
        if self._run is not None:
            self.run_worker(self._open(self._run), group="page", exclusive=True)

    async def _open(self, run: SignIn) -> None:
        if await run.open_page():
            self._show()
        elif run.refusal:
            self._say(f"Not opened: {run.refusal}")
        else:
            self._say("There is no browser here. Copy the address, to open it elsewhere.")

    def action_copy(self) -> None:
        """Copy the page's address; the redirect, where a client has to be registered with it."""
        if self._run is not None:
            self.app.copy(self._run.redirect_uri if self._run.state == "client" else self._run.authorization_url)

    def action_paste(self) -> None:
        """A field for the address that the browser was sent to."""
        self.redirect.display = True
        self.redirect.focus()
        self.call_after_refresh(self.redirect.scroll_visible, animate=False)

    @on(Input.Submitted)
    @on(OptionList.OptionSelected)
    def action_take(self) -> None:
        """Use what was entered or chosen."""
        if (run := self._run) is None:
            return
        try:
            if run.state == "browser" and (address := self.redirect.value.strip()):
                run.paste(address)
            elif run.state == "client" and (client := self.client_id.value.strip()):
                run.give_client(client, self.client_secret.value)
            elif run.state == "choosing" and self.issuers.highlighted is not None:
                run.choose(run.choices[self.issuers.highlighted])
        except StudioError as error:  # what is wrong stays to be put right
            self._say(f"{error.message} {error.hint}")

    def action_keep(self) -> None:
        """Choose where tokens are kept."""
        self.app.attempt(self, self._keep(), "keep")

    async def _keep(self) -> None:
        studio = self.app.studio
        now = "memory" if self._situation.refusal else studio.signing.accounts.keeping
        place = await self.app.push_screen_wait(Choose("Where tokens are kept", _PLACES, now))
        if not place:
            return
        if place == "file" and studio.config.settings.secrets != "file":
            file = await server_files.keep_secrets_in_file(studio)
            self.app.say(f'{file} says so now: [secrets] store = "file".')
        studio.signing.accounts.keep_in(cast("Keeping", place))
        await self._look_up_place()

    def action_token(self) -> None:
        show_token(self.app, self._server)

    def action_cancel(self) -> None:
        """Stop it; nothing is kept."""
        if self._run is not None and not self._run.over:
            self._run.cancel()

    def action_decline(self) -> None:
        """Do not sign in for what is waiting."""
        self.dismiss(Answer("decline"))

    def action_back(self) -> None:
        """Out of a field, else leave; what has begun goes on."""
        if isinstance(self.focused, Input):
            self.query_one("#back").focus()
            return
        if self._run is not None and not self._run.over:
            self.app.say(f"Signing in to {safe(self._server, 60)} goes on; its action Sign in shows it.")
        elif self._request is not None and not self._request.reply.done():
            self.app.say(f"It stays pending; {self.app.key_of('pending')} opens it again.")
        self.dismiss(None)


# What is said in each state, below the steps


def _row(label: str, text: str, look: str = "") -> Parts:
    return [(f"{label:<10}", "$quiet"), (text, look), "\n"]


def _warnings(*texts: str) -> Parts:
    return [(f"{glyphs().warning} {safe(text, 400)}\n", "$state-busy") for text in dict.fromkeys(texts) if text]


def before(situation: Situation) -> Parts:
    """Nothing has begun."""
    parts: Parts = []
    if situation.reason:
        parts += [safe(situation.reason, 1_000), "\n"]
    if situation.scopes:
        parts += _row("scopes", safe(" ".join(situation.scopes), 600))
    if situation.refusal:
        message, _, hint = situation.refusal.partition("\n")
        parts.append((f"{glyphs().bad} {safe(message, 600)}\n", "$state-failed"))
        return [*parts, f"{safe(hint, 800, lines=True)}\n"]
    if situation.kept:
        parts += _row("kept in", safe(situation.kept, 300))
    parts += _warnings(situation.warning)
    if situation.account is not None:
        return [*parts, *_row("signed in", f"with {safe(situation.account.issuer, 300)}"), *_valid(situation.account)]
    how = "Your browser opens." if situation.browser else "You get an address to open in a browser elsewhere."
    how = "No person is needed: the server's entry says how." if situation.alone else how
    return [*parts, (f"Nothing has been sent yet. {how}\n", "$quiet")]


def _valid(account: Account) -> Parts:
    left = f"for {span(account.expires - time.time())}" if account.expires else "it is not known for how long"
    renewed = "then it is renewed by itself" if account.refreshable else "then you have to sign in anew"
    return _row("valid", f"{left}; {renewed}")


def card(run: SignIn, situation: Situation, status: Status | None) -> Parts:
    """What there is to know or do in the state that a sign-in is in."""
    match run.state:
        case "paused" if (following := run.next_request) is not None:
            parts: Parts = [("Next  ", "$quiet"), (safe(following.purpose, 200), "bold"), "\n"]
            parts += [(safe(following.method, 20), "bold $accent"), " ", safe(following.url, _LONGEST), "\n"]
            return [*parts, (safe(following.request, _BODY, lines=True), "$quiet"), "\n"]
        case "browser":
            return _browser(run, situation)
        case "choosing":
            count = units.plural(len(run.choices), "authorization server")
            return [f"The server names {count}. Which one do you use?\n"]
        case "client":
            reason = safe(run.client_reason, 600) or "A client is needed there, and none is configured."
            keeps = f"{kept}.\n" if (kept := port_kept(run.redirect_uri)) else ""
            how = (
                f"Register one there with this redirect, and enter its id here: {safe(run.redirect_uri, 400)}\n{keeps}"
            )
            return [reason, "\n", (how if run.redirect_uri else "", "$quiet")]
        case "failed" | "cancelled":
            return _ended(run)
        case "done":
            return _done(run, situation, status)
        case _:
            newest = next((step.exchanges[-1] for step in reversed(run.steps) if step.exchanges), None)
            return [*_exchange_line(newest), "\n"] if newest is not None else []


def _browser(run: SignIn, situation: Situation) -> Parts:
    """Where the page leads, and how the browser comes back."""
    page = judge(run.authorization_url)
    left = f"  {span(run.until - time.monotonic())} left" if run.until else ""
    where = "Your browser has the page" if run.opened else "The page waits for you"
    parts: Parts = [
        (where, "bold"),
        (left, "$quiet"),
        "\n",
        *_row("host", safe(page.host or "none", 300), "bold $accent"),
    ]
    if page.ascii_host != page.host:
        parts += _row("network", safe(page.ascii_host, 300), "bold $accent")
    parts += _warnings(*page.warnings, *run.warnings)
    if refusal := page.refusal or run.refusal:
        parts.append((f"{glyphs().bad} Not opened: {safe(refusal, 400)}\n", "$state-failed"))
    parts += _row("redirect", safe(run.redirect_uri, 400))
    if not (situation.browser or run.opened):  # another machine's browser: what to copy, and the two ways back
        parts += _warnings("No browser can be opened here: copy the address, and open it on your own machine.")
        tunnel = browsers.ssh_line(run.redirect_uri, os.environ) if run.started_callback else ""
        if tunnel:
            parts += [("To let it come back by itself, run this there first:\n  ", "$quiet"), (tunnel, "bold"), "\n"]
        paste = "Paste the address that the browser ends up at. It cannot connect there, and need not.\n"
        parts.append((f"Or: {paste}" if tunnel else paste, "$quiet"))
    elif not run.started_callback:
        parts.append(("Nothing listens for the browser here: paste the address that it ends up at.\n", "$quiet"))
    return [*parts, ("address\n", "$quiet"), safe(page.url, _LONGEST), "\n"]


def _ended(run: SignIn) -> Parts:
    """Why it failed, what should have been sent, and what was."""
    error = run.error
    mark, look = (glyphs().bad, "$state-failed") if run.state == "failed" else (glyphs().dot, "$quiet")
    parts: Parts = [(f"{mark} {safe(error.message if error else 'It was cancelled.', 1_500, lines=True)}\n", look)]
    failed = next((step for step in run.steps if step.state == "failed"), None)
    hints = dict.fromkeys(filter(None, (error.hint if error else "", failed.hint if failed else "")))
    parts += [f"{safe(hint, 1_000, lines=True)}\n" for hint in hints]
    if failed is not None and failed.exchanges:
        newest = failed.exchanges[-1]
        beginning = "\n".join(safe(newest.response, 1_200, lines=True).split("\n")[:_LINES])
        parts += ["\n", *_exchange_line(newest), "\n", (f"{beginning}\n", "$quiet")]
    return [*parts, "Nothing is kept of it.\n"]


def _done(run: SignIn, situation: Situation, status: Status | None) -> Parts:
    account = run.account
    parts: Parts = [(f"{glyphs().ok} Signed in to {safe(run.server, 60)}.\n", "bold $state-ready")]
    if status is not None and status.state != "ready":  # a token may be right and still not be enough for the server
        look = "$state-failed" if connections.tone(status) == "bad" else "$quiet"
        parts.append((f"{connections.state_words(status)}\n", look))
    if account is not None:
        parts += [*_row("scopes", safe(" ".join(account.scopes), 600) or "none are named"), *_valid(account)]
        parts += _row("kept in", safe(account.kept, 300))
    return [*parts, *_warnings(situation.warning)]


def _exchange_line(exchange: AuthExchange) -> Parts:
    """One exchange: method, address, status, time."""
    look = "$text-success" if 200 <= exchange.status < 400 else "$text-warning"
    method, url = safe(exchange.method, 20), safe(exchange.url, 600)
    took = f"  {units.duration(exchange.ms)}" if exchange.ms else ""
    status = (str(exchange.status or "no answer"), look)
    return [(f"{method} ", "$quiet"), url, (f" {glyphs().sent} ", "$quiet"), status, (took, "$quiet")]
