"""A page that a server wants opened, put to the person on the terminal."""

from __future__ import annotations

from mcp_studio.browser import open_page
from mcp_studio.cli.lines import Lines
from mcp_studio.cli.telling import Left, frame, leave, prompt, say
from mcp_studio.safetext import safe
from mcp_studio.session.inbox import Inbox, InputRequest
from mcp_studio.session.urls import judge


async def visit(request: InputRequest, inbox: Inbox, lines: Lines) -> None:
    """Show where it leads, open it on consent, and wait where a call is to be sent again.

    Raises:
        Left: the person declined or cancelled.
        EndOfInput: there is nobody any more.
    """
    page = judge(request.url)
    frame(request.message)
    say(f"It wants a page opened at {safe(page.host or 'no host')}")
    if page.ascii_host != page.host:
        say(f"  which the network knows as {safe(page.ascii_host)}")
    say(f"  {safe(request.url, 8_192)}")
    for warning in page.warnings:
        say(f"  {warning}")
    if page.refusal:
        say(f"  {page.refusal} It is not opened.")
        prompt("Decline, or cancel the call? [D/c] ")
        raise Left("cancel" if (await lines.read()).strip().lower() in ("c", "cancel", ":cancel") else "decline")
    await _consent(request, inbox, lines, page.url)
    if request.retries:
        prompt("Press Enter when the page is done; :cancel gives up. ")
        leave(await lines.read())
        request.answer("accept")


async def _consent(request: InputRequest, inbox: Inbox, lines: Lines, url: str) -> None:
    while True:
        prompt("Open it? [o]pen, [m]yself, [d]ecline, [c]ancel: ")
        answer = (await lines.read()).strip().lower()
        leave(answer)
        if answer in ("d", "decline", "c", "cancel"):
            raise Left("decline" if answer[0] == "d" else "cancel")
        if answer in ("o", "open", "m", "myself"):
            if answer[0] == "o" and not await open_page(url):
                say("  There is no browser to open it with; open the address above yourself.")
            inbox.page_opened(request)
            return
