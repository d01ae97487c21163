"""Signing in from the main screen: who is asked for it, what goes on in the background, where tokens are kept."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from mcp_studio.auth.signin import SignIn
from mcp_studio.config.model import Keeping, ServerConfig
from mcp_studio.errors import StudioError
from mcp_studio.present import browser as browsers
from mcp_studio.present import connections
from mcp_studio.safetext import safe
from mcp_studio.session.inbox import Answer, InputRequest
from mcp_studio.session.state import Status
from mcp_studio.tui import late, late_auth
from mcp_studio.tui.sign_in_text import Matter

if TYPE_CHECKING:
    from mcp_studio.auth.accounts import Accounts
    from mcp_studio.auth.model import Account
    from mcp_studio.studio import Studio
    from mcp_studio.tui.screens.main import MainScreen

_NO_TOKENS = {
    "stdio": "It is a program of this machine: it takes credentials from its environment.",
    "none": "Its entry says that nobody signs in: [auth] kind is none.",
    "": "Its credentials are configured: headers, or a name in its address.",
}
_PLACES: tuple[tuple[Keeping, str], ...] = (
    ("keyring", "The keyring of the system"),
    ("memory", "Memory, this time: forgotten when the studio ends"),
    ("file", "An encrypted file from now on: asks for a passphrase"),
)
WARNINGS: dict[Keeping, str] = {
    "memory": "Tokens are kept in memory only: after the next start you have to sign in anew.",
    "file": "Tokens are kept in an encrypted file, not in the keyring of the system.",
}


class Signing:
    """What the main screen does about it; imported when the first server wants it."""

    def __init__(self, screen: MainScreen) -> None:
        self._screen = screen
        self.studio: Studio = screen.studio
        self._runs: dict[str, SignIn] = {}
        """The newest sign-in of each server; it goes on while its dialog is closed."""

    @property
    def accounts(self) -> Accounts:
        """Where sign-ins are made and kept."""
        return self.studio.signing.accounts

    # Opening

    def open(self, server: str) -> None:
        """Sign in to a server, or show the sign-in that goes on."""
        config = self._config(server)
        if config is None or not self._applies(config):
            return
        self._screen.app.push_screen(late_auth.sign_in(self, server, None, self.running(server)), self._left)

    def _left(self, answer: Answer | None) -> None:
        self._screen.refresh_servers()

    def running(self, server: str) -> SignIn | None:
        """The sign-in to a server that has begun, while it goes on."""
        return self.studio.signing.running(server)

    def token(self, server: str) -> None:
        """The token of a server."""
        config = self._config(server)
        if config is not None and self._applies(config):
            self._screen.app.push_screen(late_auth.token_view(self, server))

    def details(self, server: str) -> None:
        """Everything about the server."""
        if self._config(server) is not None:
            self._screen.app.push_screen(late.server_details(self.studio, server))

    def _config(self, server: str) -> ServerConfig | None:
        known = server in self.studio.manager.names()
        return self.studio.manager.config(server) if known else None

    def _applies(self, config: ServerConfig) -> bool:
        if config.signs_in:
            return True
        why = _NO_TOKENS[config.kind if config.kind == "stdio" else config.auth.kind]
        self._screen.studio_app.say(f"There is nothing to sign in to at {safe(config.name, 60)}. {why}", "warning")
        return False

    # What the dialog asks

    def matter(self, server: str, request: InputRequest | None) -> Matter:
        """What is known before anything has begun."""
        config, settings = self._config(server), self.studio.config.settings
        status = self.status(server)
        reason, scopes = "", config.auth.scopes if config is not None else ()
        if request is not None:
            reason = " ".join(filter(None, (request.message, *request.reasons)))
        elif status is not None and status.state == "needs_auth" and status.error is not None:
            reason = status.error.message
        elif status is not None and status.state == "ready":
            reason = "It is connected. What this brings takes the place of a sign-in that is there already."
        return Matter(
            server,
            config.url if config is not None else "",
            reason,
            scopes,
            browser=browsers.is_there(browser=settings.browser),
            alone=config is not None and config.auth.alone,
        )

    def status(self, server: str) -> Status | None:
        """How the server is now."""
        return self.studio.manager.status(server) if self._config(server) is not None else None

    async def with_place(self, matter: Matter) -> Matter:
        """The same, with where tokens will be kept, or why they cannot be."""
        keeping = self.accounts.keeping
        warning = "" if matter.alone else WARNINGS.get(keeping, "")
        try:
            config = self._config(matter.server)
            place = await self.accounts.place(config) if config is not None else ""
        except StudioError as error:
            return matter._replace(kept="", refusal=f"{error.message}\n{error.hint}".strip(), warning=warning)
        return matter._replace(kept=place, refusal="", warning=warning, account=await self._account(matter))

    async def _account(self, matter: Matter) -> Account | None:
        """Who one is signed in as at a server that is connected; what is not in use is not read for that."""
        status = self.status(matter.server)
        if status is None or status.state != "ready":
            return None
        try:
            return await self.studio.signing.account(matter.server)
        except StudioError:
            return None

    async def signed_in(self, server: str) -> bool:
        """Whether there is a sign-in to a server; what cannot be read is taken for one."""
        try:
            return await self.studio.signing.account(server) is not None
        except StudioError:
            return True

    def loud(self, server: str) -> str:
        """What has to be said wherever the server is shown; empty where there is nothing."""
        config = self._config(server)
        return connections.INSECURE if config is not None and config.tls.insecure else ""

    def begin(self, server: str, request: InputRequest | None, step_by_step: bool) -> SignIn:
        """Begin to sign in; of a server there is one at a time.

        Raises:
            StudioError: it cannot begin.
        """
        if request is not None and request.sign_in is not None:
            run = request.sign_in(step_by_step=step_by_step)
        else:
            run = self.studio.signing.sign_in(server, step_by_step=step_by_step)
        if self._runs.get(server) is not run:
            self._runs[server] = run
            run.changed.connect(self._changed)
        return run

    def _changed(self, run: SignIn) -> None:
        # Told by a task of the studio, which may end after the screens have.
        if run.over:
            self._screen.call_later(self._ended, run)

    def _ended(self, run: SignIn) -> None:
        """What ends while nobody looks at it is told."""
        self._screen.refresh_servers()
        if self._runs.get(run.server) is not run:
            return
        shown = self._screen.app.screen
        if getattr(shown, "run_now", None) is run:
            return
        name, key = safe(run.server, 60), self._screen.studio_app.spell("server-sign-in")
        if run.state == "done":
            self._screen.studio_app.say(f"Signed in to {name}.")
        elif run.state == "failed" and run.error is not None:
            text = f"Signing in to {name} failed: {run.error.message} {key} on it begins anew."
            self._screen.studio_app.say(text, "error")

    async def unlock(self, matter: Matter) -> None:
        """The passphrase of an encrypted file is asked for before anybody is sent to a browser.

        Raises:
            StudioError: nobody gave it.
        """
        if not matter.alone:
            await self.accounts.unlock()

    def choose_place(self, done: Callable[[], None], *, refused: bool) -> None:
        """Another place for tokens: memory until the studio ends, or a file for good.

        Where the present one is `refused` the cursor is on another, so that enter changes something.
        """

        def chosen(keeping: str | None) -> None:
            for known, _ in _PLACES:
                if keeping == known:
                    self._screen.run_worker(self._keep_in(known, done), group="keep", exclusive=True)

        heading, now = "Where tokens are kept", "memory" if refused else self.accounts.keeping
        self._screen.app.push_screen(late.choose(heading, _PLACES, now), chosen)

    async def _keep_in(self, keeping: Keeping, done: Callable[[], None]) -> None:
        if keeping == "file" and self.studio.config.settings.secrets != "file":
            try:
                file = await late.server_files().keep_secrets_in_file(self.studio)
            except StudioError as error:
                self._screen.studio_app.fail(error)
                return
            self._screen.studio_app.say(f'{file} says so now: [secrets] store = "file".')
        self.accounts.keep_in(keeping)
        done()
