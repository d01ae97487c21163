"""What signing in, tokens and secrets need on screen, imported when it is first needed; see `late`."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from textual.screen import ModalScreen

    from mcp_studio.auth.model import AuthStep
    from mcp_studio.auth.signin import SignIn
    from mcp_studio.session.inbox import Answer, InputRequest
    from mcp_studio.signal import Signal
    from mcp_studio.tui.app import StudioApp
    from mcp_studio.tui.screens.main import MainScreen
    from mcp_studio.tui.screens.signing import Signing
    from mcp_studio.tui.screens.unlocking import Unlocking


def signing(screen: MainScreen) -> Signing:
    """Signing in from the main screen."""
    from mcp_studio.tui.screens.signing import Signing

    return Signing(screen)


def sign_in(
    signing: Signing, server: str, request: InputRequest | None = None, run: SignIn | None = None
) -> ModalScreen[Answer]:
    """The steps of signing in to a server."""
    from mcp_studio.tui.screens.sign_in import SignInDialog

    return SignInDialog(signing, server, request, run)


def exchanges(step: AuthStep, changed: Signal[SignIn]) -> ModalScreen[None]:
    """The HTTP exchanges of one step."""
    from mcp_studio.tui.screens.exchanges import Exchanges

    return Exchanges(step, changed)


def token_view(signing: Signing, server: str) -> ModalScreen[None]:
    """The token of a server."""
    from mcp_studio.tui.screens.token_view import TokenView

    return TokenView(signing, server)


def asking_passphrase(app: StudioApp) -> Callable[[bool], str]:
    """What asks for the passphrase of the encrypted file, from any thread but that of the app."""
    loop = asyncio.get_running_loop()
    made: list[Unlocking] = []

    def ask(new: bool) -> str:
        from mcp_studio.tui.screens.unlocking import Unlocking

        if not made:
            made.append(Unlocking(app, loop))
        return made[0].ask(new)

    return ask
