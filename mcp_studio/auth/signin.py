"""One run of signing in to a server, as a front end follows and commands it.

`run` is the work; one coroutine, which never raises a `StudioError`: `state` and `error` say how it went. All else
is called by front ends, from any task of the same loop, and returns at once. Whatever changes is told by `changed`.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from mcp_studio.auth.model import Account, AuthStep, NextRequest, SignInState
from mcp_studio.errors import StudioError
from mcp_studio.signal import Signal

Browser = Callable[[str], Awaitable[bool]]
"""Opens a page for a person; False where there is no browser. It is given only addresses that `urls.judge` allows."""
FINAL: tuple[SignInState, ...] = ("done", "failed", "cancelled")


class SignIn:
    """Signing in to one server: discovery, a client, a person's permission, a token, and where that is kept."""

    server: str
    """The name of the server."""
    state: SignInState
    steps: tuple[AuthStep, ...]
    """All steps, in order, from the beginning; they change in place."""
    changed: Signal[SignIn]
    error: StudioError | None
    """Why it failed or was cancelled."""
    account: Account | None
    """What it brought, once `done`."""
    authorization_url: str
    """The page where a person gives permission; empty before. Foreign: it is shown through `safetext.safe`."""
    redirect_uri: str
    """Where the browser is sent back to."""
    until: float
    """Monotonic time at which waiting for the browser ends; 0 while nobody waits."""
    next_request: NextRequest | None
    """While `paused`: what is sent after `go_on`."""
    choices: tuple[str, ...]
    """While `choosing`: the issuers of the authorization servers; foreign."""
    step_by_step: bool
    """Whether it stops before each request."""
    started_callback: bool
    """Whether a listener on this machine waits for the browser; else only `paste` goes on."""
    opened: bool
    """Whether the page was handed to a browser."""
    refusal: str
    """Why the page is not opened by us, in a sentence, or empty."""
    warnings: tuple[str, ...]
    """What a person should know of the page's address before going there."""

    @property
    def over(self) -> bool:
        """Whether it has come to an end."""
        return self.state in FINAL

    async def run(self) -> None:
        """Sign in; returns when `over`. Cancelling the task that runs it cancels it."""
        raise NotImplementedError

    def go_on(self) -> None:
        """While `paused`: send the request."""
        raise NotImplementedError

    def run_through(self) -> None:
        """Send everything from now on without stopping."""
        raise NotImplementedError

    def choose(self, issuer: str) -> None:
        """While `choosing`: use this one of `choices`.

        Raises:
            UsageError: it is none of them.
        """
        raise NotImplementedError

    def give_client(self, client_id: str, secret: str = "") -> None:
        """In state `client`: the client that was registered for us at the authorization server by a person.

        Raises:
            UsageError: the id is empty or cannot be one.
        """
        raise NotImplementedError

    def paste(self, redirect_url: str) -> None:
        """In state `browser`: the address that the browser was sent to, when it could not get there.

        Raises:
            UsageError: why it is none; the sign-in goes on waiting.
        """
        raise NotImplementedError

    async def open_page(self) -> bool:
        """Hand the page to the browser (once more); False where there is none, or `refusal` says why not."""
        raise NotImplementedError

    async def set_aside(self) -> None:
        """In state `browser`: keep what is needed to go on with `Accounts.resume` within 15 minutes, and end.

        Raises:
            StudioError: nothing that outlives this process is kept here; it goes on waiting.
        """
        raise NotImplementedError

    def cancel(self) -> None:
        """End it; nothing is stored. Any number of times."""
        raise NotImplementedError
