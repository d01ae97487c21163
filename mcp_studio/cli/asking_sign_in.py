"""A server that wants a sign-in, put to the person on the terminal; where nobody is there, the page is handed out."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from mcp_studio.auth.signin import SignIn
from mcp_studio.browser import NONE
from mcp_studio.cli.lines import EndOfInput, Lines
from mcp_studio.cli.output import SignInAt
from mcp_studio.cli.sign_in_words import login_command
from mcp_studio.cli.signing_in import Guide, Opener
from mcp_studio.cli.telling import prompt, say
from mcp_studio.config.model import ServerConfig
from mcp_studio.errors import SignInNeeded, StudioError
from mcp_studio.safetext import safe
from mcp_studio.session.inbox import InputRequest
from mcp_studio.session.sign_in_words import wants

if TYPE_CHECKING:
    from mcp_studio.cli.asking import Asker
    from mcp_studio.cli.output import Output
    from mcp_studio.session.state import Status
    from mcp_studio.studio import Studio

_PATIENCE = 15.0
"""Seconds for getting at the page that is handed out."""


async def nobody(request: InputRequest, studio: Studio) -> SignInNeeded:
    """A call waits for a sign-in and nobody can be asked: why it ends, with the page where there is one."""
    config = studio.manager.config(request.server)
    error = SignInNeeded(wants(request.server, request.message), hint=f"Sign in: {login_command(config)}")
    if request.sign_in is None:
        return error
    return await hand_out(studio, config, request.sign_in, error) or error


async def put(request: InputRequest, studio: Studio, lines: Lines, note: Callable[[str], None]) -> None:
    """A call waits for a sign-in: ask, and sign in.

    Raises:
        EndOfInput: there is nobody any more.
    """
    waiting = f" ({safe(request.subject)} is waiting)" if request.subject else ""
    say(wants(safe(request.server), safe(request.message), how=waiting))
    for reason in request.reasons:
        say(f"  {safe(reason, 600)}")
    if request.sign_in is None or not await _agrees(lines):
        request.answer("decline")
        return
    config = studio.manager.config(request.server)
    try:
        await _follow(studio, config, request.sign_in, lines, note)
        request.answer("accept")
    except StudioError as error:
        _tell(error)
        request.answer("decline")


async def first(studio: Studio, name: str, status: Status, asker: Asker, out: Output) -> Status:
    """A server cannot be connected to before somebody signs in: offer that, or hand out the page.

    Returns:
        What became of the server.
    """
    config = studio.manager.config(name)
    begin = partial(studio.sign_in, name)
    async with asker.turn:
        if not asker.present:
            if out.server == name and status.error and (found := await hand_out(studio, config, begin, status.error)):
                raise found
            return status
        about = status.error.message if status.error else ""
        say(wants(safe(name), safe(about)))
        try:
            if not await _agrees(asker.lines):
                return status
            await _follow(studio, config, begin, asker.lines, out.note)
        except EndOfInput:
            return status
    studio.manager.start(name)
    return await studio.manager.settle(name)


async def hand_out(
    studio: Studio, config: ServerConfig, begin: Callable[[], SignIn], error: StudioError
) -> SignInAt | None:
    """Get as far as the page where somebody can sign in, and leave the rest for later.

    Returns:
        `error` with the page; None where there is none, or where nothing can be left for later.
    """
    sign_in: SignIn | None = None
    studio.accounts.browser = opener = Opener(NONE)
    try:
        async with asyncio.timeout(_PATIENCE):
            sign_in = begin()
            await Guide(sign_in, _silent, None, opener, finish=login_command(config)).follow()
    except SignInAt as page:
        say(f"Somebody can sign in to {safe(config.name)} there, with a browser on any machine:")
        say(safe(page.url, 16_384))
        return SignInAt(error.message, page.url, hint=page.hint)
    except (StudioError, TimeoutError):
        return None  # what keeps it from going on is told by `auth login`
    finally:
        if sign_in is not None:
            sign_in.cancel()
    return None


async def _agrees(lines: Lines) -> bool:
    prompt("Sign in now? [y/N] ")
    return (await lines.read()).strip().lower() in ("y", "yes")


async def _follow(
    studio: Studio, config: ServerConfig, begin: Callable[[], SignIn], lines: Lines, note: Callable[[str], None]
) -> None:
    studio.accounts.browser = opener = Opener(studio.config.settings.browser)
    sign_in = begin()
    try:
        await Guide(sign_in, note, lines, opener, finish=login_command(config)).follow()
    finally:
        sign_in.cancel()


def _tell(error: StudioError) -> None:
    say(f"  {safe(error.message)}")
    if error.hint:
        say(f"  {safe(error.hint)}")


def _silent(_: str) -> None:
    return
