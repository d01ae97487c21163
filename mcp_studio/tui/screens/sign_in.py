"""Signing in to a server: every step as it happens, and what the person does. Leaving lets it go on."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import ClassVar

from textual import getters, on
from textual.content import Content
from textual.widget import Widget
from textual.widgets import Button, Input, OptionList, Static
from textual.widgets.option_list import Option

from mcp_studio.auth.model import AuthStep
from mcp_studio.auth.signin import SignIn
from mcp_studio.config.model import Keeping, ServerConfig
from mcp_studio.errors import StudioError
from mcp_studio.present import browser as browsers
from mcp_studio.present import connections, questions
from mcp_studio.safetext import safe
from mcp_studio.session.inbox import Answer, InputRequest
from mcp_studio.tui import server_files
from mcp_studio.tui.app import StudioApp
from mcp_studio.tui.screens import sign_in_text
from mcp_studio.tui.screens.choose import Choose
from mcp_studio.tui.screens.dialog import Choice, Dialog
from mcp_studio.tui.screens.sign_in_text import Situation
from mcp_studio.tui.views.glyphs import glyphs
from mcp_studio.tui.views.line import Line, cut, fit, spread
from mcp_studio.tui.views.virtual_list import VirtualList

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
WARNINGS: dict[Keeping, str] = {
    "memory": "Tokens are kept in memory only: after the next start you have to sign in anew.",
    "file": "Tokens are kept in an encrypted file, not in the keyring of the system.",
}
_GLYPHS = {
    "done": ("ok", "ok"), "running": ("half", "warn"), "asking": ("waiting", "accent"), "failed": ("bad", "bad"),
    "waiting": ("off", "dim"), "skipped": ("dash", "dim"),
}  # fmt: skip
_TITLE = 25
"""Cells of a step's title; what came out stands beside it."""


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
        Choice("begin", "Sign in", "primary"),
        Choice("step_by_step", "Step by step"),
        Choice("send", "Send it", "primary"),
        Choice("send_all", "Send all"),
        Choice("open_page", "Open in browser", "primary"),
        Choice("copy", "Copy"),
        Choice("paste", "Paste the redirect"),
        Choice("take", "Use it", "primary"),
        Choice("retry", "Try again", "primary"),
        Choice("keep", "Keep tokens elsewhere"),
        Choice("exchanges", "Exchanges"),
        Choice("token", "Token"),
        Choice("cancel", "Cancel"),
        Choice("decline", "Decline"),
        Choice("back", "Later"),
    )
    offered: ClassVar[dict[str, tuple[str, ...]]] = {
        "before": ("begin", "step_by_step", "keep", "back"),
        "refused": ("keep", "back"),
        "running": ("exchanges", "cancel", "back"),
        "paused": ("send", "send_all", "exchanges", "cancel", "back"),
        "browser": ("open_page", "copy", "paste", "exchanges", "cancel", "back"),
        "choosing": ("take", "cancel", "back"),
        "client": ("take", "copy", "exchanges", "cancel", "back"),
        "failed": ("retry", "exchanges", "back"),
        "cancelled": ("retry", "exchanges", "back"),
        "done": ("back", "token", "exchanges"),
    }
    """Buttons by state, the first is the default."""
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
        self._run: SignIn | None = None
        self._situation = Situation(server, "")
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
        self._situation = self._look_around()
        running = self.app.studio.signing.running(self._server)
        if running is not None:
            self._follow(running)
        else:
            self.run_worker(self._look_up_place(), group="place", exclusive=True)
        self._show()
        self.set_interval(1, self._tick)

    def on_unmount(self) -> None:
        self._disconnect()

    # What is known around it

    def _config(self) -> ServerConfig | None:
        manager = self.app.studio.manager
        return manager.config(self._server) if self._server in manager.names() else None

    def _look_around(self) -> Situation:
        """What is known before anything has begun."""
        config, studio, request = self._config(), self.app.studio, self._request
        status = studio.manager.status(self._server) if config is not None else None
        reason = ""
        if request is not None:
            reason = " ".join(filter(None, (request.message, *request.reasons)))
        elif status is not None and status.state == "needs_auth" and status.error is not None:
            reason = status.error.message
        elif status is not None and status.state == "ready":
            reason = "It is connected. This replaces a sign-in that is there already."
        return Situation(
            self._server, config.url if config else "", reason, config.auth.scopes if config else (),
            browser=browsers.is_there(browser=studio.config.settings.browser),
            alone=config is not None and config.auth.alone, status=status,
        )  # fmt: skip

    async def _look_up_place(self) -> None:
        """Whether tokens can be kept is said before anything is sent."""
        accounts, config = self.app.studio.signing.accounts, self._config()
        warning = "" if self._situation.alone else WARNINGS.get(accounts.keeping, "")
        try:
            place = await accounts.place(config) if config is not None else ""
            ready = self._situation.status is not None and self._situation.status.state == "ready"
            account = await self.app.studio.signing.account(self._server) if ready and not self._request else None
        except StudioError as error:
            refusal = f"{error.message}\n{error.hint}".strip()
            self._situation = self._situation._replace(kept="", refusal=refusal, warning=warning)
        else:
            self._situation = self._situation._replace(kept=place, refusal="", warning=warning, account=account)
        self._show()

    def _follow(self, run: SignIn) -> None:
        self._disconnect()
        self._run = run

        def changed(run: SignIn) -> None:
            self.call_later(self._show)

        self._disconnect = run.changed.connect(changed)
        self._show()

    # Showing

    @property
    def _at(self) -> str:
        """The state, with what there is before one."""
        if self._run is not None:
            return self._run.state
        return "refused" if self._situation.refusal else "before"

    def _tick(self) -> None:
        if self._request is not None or self._at in ("browser", "done"):
            self._show()

    def _show(self) -> None:
        if not self.is_attached:
            return
        run, at = self._run, self._at
        left = questions.left(self._request) if self._request is not None else ""
        config = self._config()
        insecure = connections.INSECURE if config is not None and config.tls.insecure else ""
        about = " · ".join(filter(None, (safe(self._situation.url, 1_000), left, insecure)))
        self.query_one("#about", Static).update(Content(about))
        self.steps.display = run is not None
        if config is not None:
            self._situation = self._situation._replace(status=self.app.studio.manager.status(self._server))
        if run is not None:
            self.steps.show(run.steps)
            self.steps.styles.height = len(run.steps)
        parts = sign_in_text.card(run, self._situation) if run is not None else sign_in_text.before(self._situation)
        self.card.update(Content.assemble(*parts))
        if at != self._state:
            self._enter(at)

    def _enter(self, at: str) -> None:
        """Another state: other buttons, other fields, another place for the focus."""
        self._state = at
        offered = self.offered.get(at, ("cancel", "back"))
        if self._request is not None and at in ("before", "refused"):
            offered = (*offered[:-1], "decline", "back")
        for choice in self.choices:
            self.query_one(f"#{choice.action}", Button).display = choice.action in offered
        self.query_one("#back", Button).label = "Close" if at in ("done", "failed", "cancelled") else "Later"
        self.issuers.display = at == "choosing"
        self.client_id.display = self.client_secret.display = at == "client"
        self.redirect.display = self.redirect.display and at == "browser"
        if at == "choosing" and self._run is not None:
            options = [
                Option(Content(safe(issuer, 600)), id=f"issuer-{n}") for n, issuer in enumerate(self._run.choices)
            ]
            self.issuers.clear_options().add_options(options)
        if at != "client":
            self.client_secret.value = ""
        self.problem.update("")
        focus = {"choosing": self.issuers, "client": self.client_id}.get(at)
        self.set_focus(focus or self.query_one(f"#{offered[0]}", Button))

    def _draw(self, step: AuthStep, width: int, selected: bool) -> Line:
        name, look = _GLYPHS[step.state]
        strong = "strong" if step.state in ("running", "asking", "failed") else ""
        title = fit(safe(step.title, 60), _TITLE - 1, more=glyphs().more)
        count = len(step.exchanges)
        right = f" {count} {glyphs().folded}" if count else ""
        text = cut(sign_in_text.step_text(step), max(0, width - _TITLE - 8), more=glyphs().more)
        look_of_title = strong or ("dim" if step.state == "waiting" else "")
        left = [(f"{getattr(glyphs(), name)} ", look), (f"{title} ", look_of_title), (text, "dim")]
        return spread(left, [(right, "dim")], width)

    # What the person does

    @on(VirtualList.Chosen, "#steps")
    def action_exchanges(self) -> None:
        """The HTTP exchanges of the step under the cursor."""
        step = self.steps.row
        if step is None or not step.exchanges:
            self.problem.update("Nothing was sent for this step.")
            return
        from mcp_studio.tui.screens.exchanges import Exchanges

        self.app.push_screen(Exchanges(step))

    def action_submit(self) -> None:
        """Take the first button of the state."""
        self.query_one(f"#{self.offered.get(self._at, ('back',))[0]}", Button).press()

    def action_begin(self) -> None:
        self.run_worker(self._begin(step_by_step=False), group="begin", exclusive=True)

    def action_retry(self) -> None:
        self.action_begin()

    def action_step_by_step(self) -> None:
        """Begin, and stop before each request."""
        self.run_worker(self._begin(step_by_step=True), group="begin", exclusive=True)

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
            self._refuse(error)
        else:
            self._follow(run)

    def _refuse(self, error: StudioError) -> None:
        self.problem.update(Content(safe(f"{error.message} {error.hint}", 800)))

    def action_send(self) -> None:
        """Send the request that is shown."""
        if self._run is not None and self._run.state == "paused":
            self._run.go_on()

    def action_send_all(self) -> None:
        if self._run is not None:
            self._run.run_through()

    def action_open_page(self) -> None:
        if self._run is not None and self._run.state == "browser":
            self.run_worker(self._open(self._run), group="page", exclusive=True)

    async def _open(self, run: SignIn) -> None:
        if await run.open_page():
            self._show()
        elif run.refusal:
            self.problem.update(Content(safe(f"Not opened: {run.refusal}", 600)))
        else:
            self.problem.update("There is no browser here. Copy the address, to open it elsewhere.")

    def action_copy(self) -> None:
        """Copy the page's address; the redirect, where a client has to be registered with it."""
        if self._run is not None:
            self.app.copy(self._run.redirect_uri if self._run.state == "client" else self._run.authorization_url)

    def action_paste(self) -> None:
        """A field for the address that the browser was sent to."""
        self.redirect.display = True
        self.redirect.focus()

    @on(Input.Submitted)
    @on(OptionList.OptionSelected)
    def action_take(self) -> None:
        """Use what was entered or chosen."""
        run = self._run
        if run is None:
            return
        try:
            if run.state == "browser" and self.redirect.value.strip():
                run.paste(self.redirect.value.strip())
            elif run.state == "client" and self.client_id.value.strip():
                run.give_client(self.client_id.value.strip(), self.client_secret.value)
            elif run.state == "choosing" and self.issuers.highlighted is not None:
                run.choose(run.choices[self.issuers.highlighted])
        except StudioError as error:  # what is wrong stays to be put right
            self._refuse(error)

    def action_keep(self) -> None:
        """Choose where tokens are kept."""
        now = "memory" if self._situation.refusal else self.app.studio.signing.accounts.keeping

        def chosen(place: str | None) -> None:
            for keeping, _ in _PLACES:
                if place == keeping:
                    self.app.attempt(self, self._keep_in(keeping), "keep")

        self.app.push_screen(Choose("Where tokens are kept", _PLACES, now), chosen)

    async def _keep_in(self, keeping: Keeping) -> None:
        studio = self.app.studio
        if keeping == "file" and studio.config.settings.secrets != "file":
            file = await server_files.keep_secrets_in_file(studio)
            self.app.say(f'{file} says so now: [secrets] store = "file".')
        studio.signing.accounts.keep_in(keeping)
        await self._look_up_place()

    def action_token(self) -> None:
        from mcp_studio.tui.screens.token import show_token

        show_token(self.app, self._server)

    def action_cancel(self) -> None:
        """Stop it; nothing is kept."""
        if self._run is not None and not self._run.over:
            self._run.cancel()

    def action_decline(self) -> None:
        """Do not sign in for what is waiting."""
        if self._run is not None:
            self._run.cancel()
        self.dismiss(Answer("decline"))

    def action_back(self) -> None:
        """Leave; what has begun goes on."""
        if self._run is not None and not self._run.over:
            self.app.say(f"Signing in to {safe(self._server, 60)} goes on; enter on the server (1) shows it.")
        elif self._request is not None and not self._request.reply.done():
            self.app.say(f"It stays pending; {self.app.key_of('pending')} opens it again.")
        self.dismiss(None)
