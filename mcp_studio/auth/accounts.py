"""Everything about sign-ins that front ends and sessions ask for: one object per studio."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from mcp_studio.auth.access import Ask
from mcp_studio.auth.model import Account
from mcp_studio.auth.signin import Browser, SignIn
from mcp_studio.config.model import ServerConfig, Settings
from mcp_studio.limits import Limits
from mcp_studio.paths import Paths
from mcp_studio.redact import Redactor
from mcp_studio.transport.credentials import Credentials
from mcp_studio.transport.tap import Tap


def applies(config: ServerConfig) -> bool:
    """Whether we sign in to a server at all: it is remote, and nothing else was configured for it.

    An Authorization header, or a user name in the address, leaves OAuth out unless `[servers.NAME.auth] kind` wants it.
    """
    raise NotImplementedError


class Accounts:
    """The sign-ins of one person: made, used, renewed, shown and ended."""

    browser: Browser
    """Opens pages; a front end may put its own here."""

    def __init__(
        self,
        settings: Settings,
        paths: Paths,
        limits: Limits,
        redactor: Redactor,
        *,
        passphrase: Callable[[bool], str] | None = None,
    ) -> None:
        """`passphrase` asks for the one of the encrypted file (True: a new one), in a thread."""
        raise NotImplementedError

    def access(self, config: ServerConfig, tap: Tap, ask: Ask | None) -> Credentials | None:
        """The credentials for a connection; None where `applies` says no. Nothing is read or sent yet."""
        raise NotImplementedError

    def sign_in(
        self,
        config: ServerConfig,
        tap: Tap,
        *,
        scopes: Sequence[str] = (),
        challenge: str = "",
        step_by_step: bool = False,
    ) -> SignIn:
        """Signing in, not started. `challenge` is the `WWW-Authenticate` that led to it; without one it is fetched."""
        raise NotImplementedError

    def resume(self, config: ServerConfig, tap: Tap, redirect_url: str) -> SignIn:
        """Going on with a sign-in that was set aside, with the address that the browser was sent to; not started."""
        raise NotImplementedError

    async def account(self, config: ServerConfig) -> Account | None:
        """What is known of a server's sign-in; None where there is none."""
        raise NotImplementedError

    async def accounts(self) -> list[Account]:
        """All sign-ins, of servers that are configured and of others; claims are left out: no secret is read."""
        raise NotImplementedError

    async def token(self, config: ServerConfig) -> str:
        """The access token itself, renewed where it has expired; only for a person who asks for it.

        Raises:
            StudioError: there is none, or it cannot be renewed.
        """
        raise NotImplementedError

    async def refresh(self, config: ServerConfig, tap: Tap) -> Account:
        """Renew the token now.

        Raises:
            StudioError: why it cannot be; `SignInNeeded` where a person has to sign in.
        """
        raise NotImplementedError

    async def sign_out(self, config: ServerConfig, tap: Tap) -> str:
        """Revoke the tokens where that is offered (RFC 7009) and forget them in any case; what happened, in words."""
        raise NotImplementedError

    async def forget(self, config: ServerConfig, *, client: bool = False) -> None:
        """Forget the tokens without telling anybody; with `client` also who we are at the authorization server."""
        raise NotImplementedError
