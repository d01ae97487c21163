"""One run of signing in to a server, as a front end follows and commands it.

`run` is the work; one coroutine, which never raises a `StudioError`: `state` and `error` say how it went. All else
is called by front ends, from any task of the same loop, and returns at once. Whatever changes is told by `changed`.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Generator, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import TypeVar

from mcp_studio.auth import model
from mcp_studio.auth.authorize import Expected
from mcp_studio.auth.callback import Redirects
from mcp_studio.auth.fetch import Fetcher
from mcp_studio.auth.flow import Flow
from mcp_studio.auth.model import Account, AuthExchange, AuthFailed, AuthStep, Grant, NextRequest, SignInState, StepName
from mcp_studio.auth.person import Means, typed
from mcp_studio.errors import SignInNeeded, StudioError, UsageError
from mcp_studio.limits import Limits
from mcp_studio.signal import Signal
from mcp_studio.transport.base import Tap
from mcp_studio.urls import judge

TITLES: dict[StepName, str] = {
    "resource": "What protects the server",
    "issuer": "Who gives tokens for it",
    "client": "Who we are there",
    "permission": "A person's permission",
    "token": "The token",
    "stored": "Where it is kept",
}
"""All steps, in their order."""


class Watched:
    """The steps of one sign-in."""

    def __init__(self, changed: Callable[[], None]) -> None:
        """`changed` is called whenever there is something new to show."""
        self.steps = tuple(AuthStep(name, title) for name, title in TITLES.items())
        self.current: AuthStep | None = None
        self._changed = changed

    @contextmanager
    def step(self, name: StepName) -> Generator[AuthStep, None, None]:
        """A step begins; it is done at the end of the block, or failed."""
        step = next(one for one in self.steps if one.name == name)
        self._skip(self.steps[: self.steps.index(step)])
        step.state, self.current = "running", step
        self._changed()
        try:
            yield step
        except StudioError as problem:
            # What was noted meanwhile may be the reason.
            problem.hint = f"{problem.hint} {step.hint}".strip()
            step.state, step.detail, step.hint = "failed", problem.message, problem.hint
            self._changed()
            raise
        step.state = "done"
        self._changed()

    def note(self, text: str) -> None:
        """Something to be told in the step that runs."""
        if self.current is not None:
            self.current.hint = f"{self.current.hint} {text}".strip()
            self._changed()

    def record(self, exchange: AuthExchange) -> None:
        """An exchange went out, or its answer is there."""
        if self.current is None:
            return
        known = self.current.exchanges
        if known and known[-1].number == exchange.number:
            known[-1] = exchange
        else:
            known.append(exchange)
        self._changed()

    def end(self, error: StudioError | None, *, aside: bool = False) -> None:
        """It is over; with `aside` a person can go on with the step that runs."""
        for step in self.steps:
            if step.state in ("running", "asking") and aside:
                step.state = "asking"
            elif step.state in ("running", "asking"):
                step.state, step.detail = "failed", error.message if error else step.detail
        if error is None:
            self._skip(self.steps)

    def _skip(self, steps: tuple[AuthStep, ...]) -> None:
        for step in steps:
            if step.state == "waiting":
                step.state = "skipped"


Browser = Callable[[str], Awaitable[bool]]
"""Opens a page for a person; False where there is no browser. It is given only addresses that `urls.judge` allows."""
FINAL: tuple[SignInState, ...] = ("done", "failed", "cancelled")
T = TypeVar("T")


class SignIn:
    """Signing in to one server: discovery, a client, a person's permission, a token, and where that is kept."""

    def __init__(
        self,
        means: Means,
        limits: Limits,
        tap: Tap,
        browser: Browser,
        stored: Callable[[Grant], Awaitable[Account]],
        *,
        scopes: Sequence[str] = (),
        challenge: str = "",
        step_by_step: bool = False,
        redirect_url: str = "",
    ) -> None:
        """Made by `Accounts`. `stored` is told what came; `redirect_url` goes on with what was set aside."""
        self.server = means.config.name
        """The name of the server."""
        self.state: SignInState = "running"
        self._watched = Watched(lambda: self.changed.emit(self))
        self.steps: tuple[AuthStep, ...] = self._watched.steps
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
        """In state `client`: why one is needed, in a sentence."""
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
        self._means = means
        self._limits = limits
        self._browser = browser
        self._stored = stored
        self._resumed = redirect_url
        self._fetcher = Fetcher(means.config, limits, tap, means.redactor, gate=self._gate, record=self._watched.record)
        self._flow = Flow(means, self._fetcher, self, asked=scopes, challenge=challenge)
        self._task: asyncio.Task[None] | None = None
        self._answer: asyncio.Future[object] | None = None
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
            grant = await (self._flow.resume(self._resumed) if self._resumed else self._flow.run())
            self.account = await self._stored(grant)
        except StudioError as problem:
            self._end("failed", problem)
        except OSError as problem:
            self._end("failed", StudioError(f"The sign-in cannot be kept: {problem.strerror or problem}."))
        else:
            self._end("done", None)

    def _end(self, state: SignInState, error: StudioError | None) -> None:
        if self.over:
            return
        self._watched.end(error, aside=self._flow.aside)
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
        """In state `client`: the client that was registered for us at the authorization server by a person.

        Raises:
            UsageError: the id is empty or cannot be one.
        """
        if self.state != "client":
            raise UsageError("No client id is asked for.")
        self._reply(typed(client_id, secret))

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
            self.opened = await self._browser(url) or self.opened
        except (StudioError, OSError):
            return False
        self.changed.emit(self)
        return self.opened

    async def set_aside(self) -> None:
        """In state `browser`: keep what is needed to go on within 15 minutes (`redirect_url`), and end.

        Raises:
            SignInNeeded: nothing that outlives this process is kept here; it goes on waiting.
        """
        pending, store = self._flow.pending, self._means.store
        if pending is None or self.state != "browser":
            raise UsageError("There is nothing to set aside.")
        if not store.lasting:
            raise SignInNeeded(
                f"Nobody is here who could sign in to {self.server}, and another run cannot finish it: secrets are "
                "kept in memory only.",
                hint='Sign in on a terminal or in the studio, or set [secrets] store to "keyring" or "file".',
            )
        await store.save_pending(pending)
        if self.state != "browser":
            await store.take_pending(pending)
            raise UsageError("The browser has come back meanwhile.")
        self._flow.aside = True
        self._stop(SignInNeeded(f"Signing in to {self.server} waits for the address that the browser ends at."))

    def cancel(self) -> None:
        """End it; nothing is stored. Any number of times, and too late once it is being stored."""
        if not self.over and not self._flow.keeping:
            self._stop(SignInNeeded(f"Signing in to {self.server} was cancelled."))

    def _stop(self, why: StudioError) -> None:
        self._stopped = why
        if self._task is None:
            self._end("cancelled", why)
        else:
            self._task.cancel()

    # What the flow asks of whoever looks on: `auth.person.Person`.

    def step(self, name: StepName) -> AbstractContextManager[AuthStep]:
        """A step begins; it ends with the block."""
        return self._watched.step(name)

    def note(self, text: str) -> None:
        """Something to be told in the step that runs."""
        self._watched.note(text)

    async def choose_issuer(self, issuers: Sequence[str]) -> str:
        """One of several authorization servers."""
        self.choices = tuple(issuers)
        chosen = await self._asked("choosing", self._future(), "Nobody chose an authorization server")
        self.choices = ()
        return str(chosen)

    async def client(self, why: str, redirect_uri: str) -> tuple[str, str]:
        """A client id and secret that were registered by hand."""
        self.client_reason, self.redirect_uri = why, redirect_uri
        answer: tuple[str, str] = await self._asked("client", self._future(), f"{why} Nobody named a client")
        return answer

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
            return await self._asked("browser", code, "Nobody came back from the browser")
        finally:
            opening.cancel()
            self._redirects = None

    def _future(self) -> asyncio.Future[T]:  # type: ignore[type-var]
        made: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        self._answer = made  # type: ignore[assignment]
        return made

    def _reply(self, answer: object) -> None:
        if self._answer is not None and not self._answer.done():
            self._answer.set_result(answer)

    async def _asked(self, state: SignInState, answer: asyncio.Future[T], otherwise: str) -> T:
        """Wait for a person, for as long as `limits.sign_in`."""
        step, seconds = self._watched.current, self._limits.sign_in
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

    async def _gate(self, request: NextRequest) -> None:
        if not self.step_by_step:
            return
        self.next_request = request
        await self._asked("paused", self._future(), f"Nobody let the request ({request.purpose}) go")
        self.next_request = None
