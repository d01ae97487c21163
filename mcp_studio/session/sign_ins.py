"""What a studio can do about signing in, as part of its API."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from mcp_studio.session.manager import ConnectionManager
from mcp_studio.session.signing import Signing

if TYPE_CHECKING:
    from mcp_studio.auth.accounts import Accounts
    from mcp_studio.auth.model import Account
    from mcp_studio.auth.signin import SignIn


class SignIns:
    """The half of `Studio` that signs in and out; every method takes the name of a server at a URL.

    Raises:
        UsageError: there is no such server, or it is a program.
    """

    signing: Signing
    manager: ConnectionManager

    @property
    def accounts(self) -> Accounts:
        """What is known of sign-ins, of servers that are configured and of others."""
        return self.signing.accounts

    def sign_in(self, server: str, *, scopes: Sequence[str] = (), step_by_step: bool = False) -> SignIn:
        """Sign in; it runs as a task of the studio, and once it is done the server is connected, or goes on.

        There is one at a time: where one is under way, it is given.
        """
        return self.signing.sign_in(server, scopes=scopes, step_by_step=step_by_step)

    async def account(self, server: str) -> Account | None:
        """What is known of a server's sign-in; None where there is none.

        Raises:
            StudioError: what is kept cannot be read.
        """
        return await self.accounts.account(self.signing.config(server))

    async def refresh_token(self, server: str) -> Account:
        """Renew the token now.

        Raises:
            StudioError: why it cannot be; `SignInNeeded` where a person has to sign in.
        """
        return await self.accounts.refresh(self.signing.config(server), self.signing.tap(server))

    async def sign_out(self, server: str) -> str:
        """Revoke the tokens where that is offered and forget them in any case; what happened, in words.

        A connection that used them ends, and is made anew without.
        """
        told = await self.accounts.sign_out(self.signing.config(server), self.signing.tap(server))
        self._anew(server)
        return told

    async def forget_sign_in(self, server: str, *, client: bool = False) -> None:
        """Forget the tokens without telling anybody; with `client` also who we are at the authorization server."""
        await self.accounts.forget(self.signing.config(server), client=client)
        self._anew(server)

    def _anew(self, server: str) -> None:
        if (sign_in := self.signing.running(server)) is not None:
            sign_in.cancel()
        if server in self.manager.names() and self.manager.supervisor(server).connection is not None:
            self.manager.restart(server)
