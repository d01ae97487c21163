"""One sign-in as a front end sees it: its state, its steps, and what a person can answer."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from mcp_studio.auth import model
from mcp_studio.auth.authorize import Expected
from mcp_studio.auth.callback import Redirects
from mcp_studio.auth.discovery import tidy
from mcp_studio.auth.fetch import Fetcher
from mcp_studio.auth.flow import Flow
from mcp_studio.auth.model import Account, AuthExchange, AuthFailed, AuthStep, NextRequest, SignInState, StepName
from mcp_studio.config.model import ServerConfig
from mcp_studio.errors import SignInNeeded, StudioError, UsageError
from mcp_studio.signal import Signal
from mcp_studio.transport.base import Tap
from mcp_studio.urls import judge

if TYPE_CHECKING:
    from mcp_studio.auth.accounts import Accounts

TITLES: dict[StepName, str] = {
    "resource": "What protects the server",
    "issuer": "Who gives tokens for it",
    "client": "Who we are there",
    "permission": "A person's permission",
    "token": "The token",
    "stored": "Where it is kept",
}
"""All steps, in their order."""
FINAL: tuple[SignInState, ...] = ("done", "failed", "cancelled")
LONGEST = 4_096
"""Characters of a client id and secret that a person types."""


class SignIn:
    """Signing in to one server: discovery, a client, a person's permission, a token, and where that is stored."""

    def __init__(
        self,
        accounts: Accounts,
        config: ServerConfig,
        tap: Tap,
        *,
        scopes: Sequence[str] = (),
        challenge: str = "",
        step_by_step: bool = False,
        redirect_url: str = "",
        anew: bool = False,
    ) -> None:
        """Made by `Accounts.sign_in`.

        Args:
            scopes: what is asked for in any case.
            challenge: the `WWW-Authenticate` that led to it; without one it is fetched.
            step_by_step: it stops before each request.
            redirect_url: it goes on with what was set aside: where the browser was sent to.
            anew: another client is registered, whatever is known of one.
        """
        config = tidy(config)
        self.server = config.name
        """The name of the server."""
        self.state: SignInState = "running"
        self.steps = tuple(AuthStep(name, title) for name, title in TITLES.items())
        """All steps, in order, from the beginning; they change in place."""
        self.changed: Signal[SignIn] = Signal()
        self.error: StudioError | None = None
        """Why it failed or was cancelled."""
        self.account: Account | None = None
        """What it brought, once `done`."""
        self.authorization_url = ""
        """The page where a person gives permission; empty before. Foreign: it is shown through `safetext.safe`."""
        self.redirect_uri = ""
        """Where the browser is sent back to."""
        self.until = 0.0
        """Monotonic time at which waiting for a person ends; 0 while nobody waits."""
        self.next_request: NextRequest | None = None
        """While `paused`: what is sent after `go_on`."""
        self.choices: tuple[str, ...] = ()
        """While `choosing`: the issuers of the authorization servers; foreign."""
        self.client_reason = ""
        """In state `client`: why one is needed, as a sentence."""
        self.step_by_step = step_by_step
        """Whether it stops before each request."""
        self.started_callback = False
        """Whether a listener on this machine waits for the browser; else only `paste` goes on."""
        self.opened = False
        """Whether the page was handed to a browser."""
        self.refusal = ""
        """Why the page must not be opened, or empty."""
        self.warnings: tuple[str, ...] = ()
        """What a person should know of the page's address before going there."""
        self.scopes = tuple(scopes)
        self.challenge = challenge
        self.anew = anew
        self._accounts = accounts
        self._config = config
        self._redirect_url = redirect_url
        self._step: AuthStep | None = None
        fetcher = Fetcher(config, accounts.limits, tap, accounts.redactor, gate=self._gate, record=self._record)
        self._flow = Flow(accounts, config, fetcher, self)
        self._task: asyncio.Task[None] | None = None
        self._answer: asyncio.Future[Any] | None = None
        self._redirects: Redirects | None = None
        self._stopped: StudioError | None = None

    @property
    def over(self) -> bool:
        """Whether it has come to an end."""
        return self.state in FINAL

    async def run(self) -> None:
        """Sign in; returns when `over`. Cancelling the task that runs it cancels it."""
        if self.over or self._task is not None:
            return
        self._task = asyncio.create_task(self._work(), name=f"sign in to {self.server}")
        try:
            await self._task
        except asyncio.CancelledError:
            if self._stopped is None:
                self._end("cancelled", SignInNeeded(f"Signing in to {self.server} was cancelled."))
                raise
            self._end("cancelled", self._stopped)
        finally:  # a mistake of ours leaves nobody waiting
            self._end("failed", StudioError(f"Signing in to {self.server} broke off."))

    async def _work(self) -> None:
        try:
            grant = await (self._flow.resume(self._redirect_url) if self._redirect_url else self._flow.run())
            self.account = await self._accounts.signed_in(self._config, grant, self._flow.unsaved)
        except StudioError as problem:
            self._end("failed", problem)
        except OSError as problem:
            self._end("failed", StudioError(f"The sign-in cannot be kept: {problem.strerror or problem}."))
        else:
            self._end("done", None)

    def _end(self, state: SignInState, error: StudioError | None) -> None:
        if self.over:
            return
        for step in self.steps:
            if step.state in ("running", "asking") and self._flow.aside:
                step.state = "asking"  # a person can go on with it
            elif step.state in ("running", "asking"):
                step.state, step.detail = "failed", error.message if error else step.detail
            elif step.state == "waiting" and error is None:
                step.state = "skipped"
        self.state, self.error, self.until, self.next_request = state, error, 0.0, None
        self.changed.emit(self)

    # Commands of front ends.

    def go_on(self) -> None:
        """While `paused`: send the request."""
        if self.state == "paused":
            self._reply(None)

    def run_through(self) -> None:
        """Send everything from now on without stopping."""
        self.step_by_step = False
        self.go_on()

    def choose(self, issuer: str) -> None:
        """While `choosing`: use this one of `choices`.

        Raises:
            UsageError: it is none of them.
        """
        if self.state != "choosing" or issuer not in self.choices:
            raise UsageError("That is none of the authorization servers to choose from.")
        self._reply(issuer)

    def give_client(self, client_id: str, secret: str = "") -> None:
        """In state `client`: the client that a person registered for us at the authorization server.

        Raises:
            UsageError: the id is empty or cannot be one.
        """
        if self.state != "client":
            raise UsageError("No client id is asked for.")
        client_id, secret = client_id.strip(), secret.strip()
        both = client_id + secret
        if not (client_id and both.isascii() and both.isprintable() and len(both) <= LONGEST):
            raise UsageError(
                "That is no client id, or no secret of one.", hint="They consist of printable ASCII characters."
            )
        self._reply((client_id, secret))

    def paste(self, redirect_url: str) -> None:
        """In state `browser`: the address that the browser was sent to, when it could not get there.

        Raises:
            UsageError: why it is none; the sign-in goes on waiting.
        """
        if self.state != "browser" or self._redirects is None:
            raise UsageError("No redirect is waited for.")
        self._redirects.paste(redirect_url)

    async def open_page(self) -> bool:
        """Hand the page to the browser (once more); False where there is none, or `refusal` says why not."""
        url = self.authorization_url
        if not url or judge(url).refusal or self.over:
            return False
        try:
            self.opened = await self._accounts.browser(url) or self.opened
        except (StudioError, OSError):
            return False
        self.changed.emit(self)
        return self.opened

    async def set_aside(self) -> None:
        """In state `browser`: store what is needed to go on within 15 minutes (`redirect_url`), and end.

        Raises:
            SignInNeeded: nothing that outlives this process is stored here; it goes on waiting.
        """
        pending = self._flow.pending
        if pending is None or self.state != "browser":
            raise UsageError("There is nothing to set aside.")
        if not self._flow.store.lasting:
            raise SignInNeeded(
                f"Nobody is here who could sign in to {self.server}, and another run cannot finish it: secrets are "
                "kept in memory only.",
                hint='Sign in on a terminal or in the studio, or set [secrets] store to "keyring" or "file".',
            )
        await self._flow.store.save_pending(pending)
        if self.state != "browser":
            await self._flow.store.take_pending(pending)
            raise UsageError("The browser has come back meanwhile.")
        self._flow.aside = True
        self._stop(SignInNeeded(f"Signing in to {self.server} waits for the address that the browser ends at."))

    def cancel(self) -> None:
        """End it; nothing is stored. Any number of times, and too late once it is being stored."""
        if not self.over and not self._flow.storing:
            self._stop(SignInNeeded(f"Signing in to {self.server} was cancelled."))

    def _stop(self, why: StudioError) -> None:
        self._stopped = why
        if self._task is None:
            self._end("cancelled", why)
        else:
            self._task.cancel()

    # What the flow shows and asks.

    @contextmanager
    def step(self, name: StepName) -> Generator[AuthStep]:
        """A step begins; it is done at the end of the block, or failed."""
        for step in self.steps:
            if step.name == name:
                break
            step.state = "skipped" if step.state == "waiting" else step.state
        else:
            raise AssertionError(name)
        step.state, self._step = "running", step
        self.changed.emit(self)
        try:
            yield step
            step.state = "done"
        except StudioError as problem:
            problem.hint = f"{problem.hint} {step.hint}".strip()  # what was noted meanwhile may be the reason
            step.state, step.detail, step.hint = "failed", problem.message, problem.hint
            raise
        finally:
            self.changed.emit(self)

    def note(self, text: str) -> None:
        """Add something to the step that runs."""
        if self._step is not None:
            self._step.hint = f"{self._step.hint} {text}".strip()
            self.changed.emit(self)

    def _record(self, exchange: AuthExchange) -> None:
        if self._step is None:
            return
        known = self._step.exchanges
        if known and known[-1].number == exchange.number:
            known.pop()
        known.append(exchange)
        self.changed.emit(self)

    async def choose_issuer(self, issuers: Sequence[str]) -> str:
        """One of several authorization servers."""
        self.choices = tuple(issuers)
        chosen: str = await self._ask("choosing", "Nobody chose an authorization server")
        self.choices = ()
        return chosen

    async def client(self, why: str, redirect_uri: str) -> tuple[str, str]:
        """A client id and secret that were registered by hand."""
        self.client_reason, self.redirect_uri = why, redirect_uri
        return await self._ask("client", f"{why} Nobody named a client")

    async def permit(self, url: str, expected: Expected, redirects: Redirects) -> str:
        """The code that the redirect brings."""
        page = judge(url)
        self.authorization_url, self.redirect_uri = url, redirects.uri
        self.refusal, self.warnings = page.refusal, page.warnings
        if page.refusal:
            raise AuthFailed(f"The page for giving permission is not opened: {page.refusal}", hint="Nobody went there.")
        self.started_callback, self._redirects = redirects.listening, redirects
        code = redirects.expect(expected)
        # Step by step a person opens it.
        opening = asyncio.create_task(asyncio.sleep(0, False) if self.step_by_step else self.open_page())
        try:
            return await self._ask("browser", "Nobody came back from the browser", code)
        finally:
            opening.cancel()
            self._redirects = None

    async def _gate(self, request: NextRequest) -> None:
        if self.step_by_step:
            self.next_request = request
            await self._ask("paused", f"Nobody let the request ({request.purpose}) go")
            self.next_request = None

    def _reply(self, answer: object) -> None:
        if self._answer is not None and not self._answer.done():
            self._answer.set_result(answer)

    async def _ask(self, state: SignInState, otherwise: str, answer: asyncio.Future[Any] | None = None) -> Any:
        """Wait for a person, for as long as `limits.sign_in`."""
        if answer is None:
            answer = self._answer = asyncio.get_running_loop().create_future()
        step, seconds = self._step, self._accounts.limits.sign_in
        assert step is not None
        self.state, step.state, self.until = state, "asking", time.monotonic() + seconds
        self.changed.emit(self)
        try:
            async with asyncio.timeout(seconds):
                return await answer
        except TimeoutError:
            raise AuthFailed(
                f"{otherwise} within {model.span(seconds)}.",
                hint="Sign in again; [limits] sign_in is how many seconds are waited.",
            ) from None
        finally:
            self.state, step.state, self.until = "running", "running", 0.0
            self.changed.emit(self)
