"""What the sign-in dialog says in each state: the card below the steps. Pure functions."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from typing import NamedTuple

from mcp_studio.auth.model import Account, AuthExchange, AuthStep, port_kept
from mcp_studio.auth.signin import SignIn
from mcp_studio.present import connections, units
from mcp_studio.present.accounts import span
from mcp_studio.present.browser import ssh_line
from mcp_studio.safetext import safe
from mcp_studio.session.state import Status
from mcp_studio.tui.views.glyphs import glyphs
from mcp_studio.urls import judge

Parts = list[str | tuple[str, str]]
_LONGEST = 10_000
_BODY = 4_000
_LINES = 12
"""Of the answer to which a step failed."""


class Situation(NamedTuple):
    """What is known around a sign-in."""

    server: str
    url: str
    reason: str = ""
    """What the server, or the call that waits, wants; foreign."""
    scopes: tuple[str, ...] = ()
    kept: str = ""
    """Where the tokens will be kept, in words; empty while that is not known."""
    refusal: str = ""
    """Why they cannot be kept where they should be."""
    warning: str = ""
    """That they are kept in another place than the keyring of the system."""
    browser: bool = True
    """Whether a browser can be opened from here."""
    alone: bool = False
    """Whether it needs no person."""
    status: Status | None = None
    account: Account | None = None
    """The sign-in that is in use."""


def before(situation: Situation) -> Parts:
    """Nothing has begun."""
    parts: Parts = []
    if situation.reason:
        parts += [safe(situation.reason, 1_000), "\n"]
    if situation.scopes:
        parts += [("scopes    ", "$quiet"), safe(" ".join(situation.scopes), 600), "\n"]
    if situation.refusal:
        message, _, hint = situation.refusal.partition("\n")
        parts.append((f"{glyphs().bad} {safe(message, 600)}\n", "$state-failed"))
        return [*parts, f"{safe(hint, 800, lines=True)}\n"]
    if situation.kept:
        parts += [("kept in   ", "$quiet"), safe(situation.kept, 300), "\n"]
    if situation.warning:
        parts.append((f"{glyphs().warning} {safe(situation.warning, 400)}\n", "$state-busy"))
    if situation.account is not None:
        parts += [("signed in ", "$quiet"), f"with {safe(situation.account.issuer, 300)}\n", *_valid(situation.account)]
        return parts
    how = "Your browser opens." if situation.browser else "You get an address to open in a browser elsewhere."
    how = "No person is needed: the server's entry says how." if situation.alone else how
    return [*parts, (f"Nothing has been sent yet. {how}\n", "$quiet")]


def _valid(account: Account) -> Parts:
    left = f"for {span(account.expires - time.time())}" if account.expires else "it is not known for how long"
    renewed = "then it is renewed by itself" if account.refreshable else "then you have to sign in anew"
    return [("valid     ", "$quiet"), f"{left}; {renewed}\n"]


def card(run: SignIn, situation: Situation) -> Parts:
    """What there is to know or do in the state that a sign-in is in."""
    match run.state:
        case "paused":
            return _paused(run)
        case "browser":
            return _browser(run, situation)
        case "choosing":
            count = units.plural(len(run.choices), "authorization server")
            return [f"The server names {count}. Which one do you use?\n"]
        case "client":
            return _client(run)
        case "failed" | "cancelled":
            return _ended(run)
        case "done":
            return _done(run, situation)
        case _:
            newest = next((step.exchanges[-1] for step in reversed(run.steps) if step.exchanges), None)
            return [*exchange_line(newest), "\n"] if newest is not None else []


def _paused(run: SignIn) -> Parts:
    """The request that is sent next."""
    following = run.next_request
    if following is None:
        return []
    parts: Parts = [("Next  ", "$quiet"), (safe(following.purpose, 200), "bold"), "\n"]
    parts += [(safe(following.method, 20), "bold $accent"), " ", safe(following.url, _LONGEST), "\n"]
    return [*parts, (safe(following.request, _BODY, lines=True), "$quiet"), "\n"]


def _browser(run: SignIn, situation: Situation) -> Parts:
    """Where the page leads, and how the browser comes back."""
    page = judge(run.authorization_url)
    left = f"  {span(run.until - time.monotonic())} left" if run.until else ""
    where = "Your browser has the page" if run.opened else "The page waits for you"
    parts: Parts = [(where, "bold"), (left, "$quiet"), "\n"]
    parts += [("host      ", "$quiet"), (safe(page.host or "none", 300), "bold $accent"), "\n"]
    if page.ascii_host != page.host:
        parts += [("network   ", "$quiet"), (safe(page.ascii_host, 300), "bold $accent"), "\n"]
    warned = dict.fromkeys((*page.warnings, *run.warnings))
    parts += [(f"{glyphs().warning} {safe(one, 400)}\n", "$state-busy") for one in warned]
    if refusal := page.refusal or run.refusal:
        parts.append((f"{glyphs().bad} Not opened: {safe(refusal, 400)}\n", "$state-failed"))
    parts += [("redirect  ", "$quiet"), safe(run.redirect_uri, 400), "\n"]
    if not (situation.browser or run.opened):
        parts += _elsewhere(run)
    elif not run.started_callback:
        parts.append(("Nothing listens for the browser here: paste the address that it ends up at.\n", "$quiet"))
    return [*parts, ("address\n", "$quiet"), safe(page.url, _LONGEST), "\n"]


def _elsewhere(run: SignIn) -> Parts:
    """Another machine's browser: what to copy, and the two ways back."""
    words = "No browser can be opened here: copy the address, and open it on your own machine.\n"
    parts: Parts = [(f"{glyphs().warning} {words}", "$state-busy")]
    tunnel = ssh_line(run.redirect_uri, os.environ) if run.started_callback else ""
    if tunnel:
        parts += [("To let it come back by itself, run this there first:\n", "$quiet"), "  ", (tunnel, "bold"), "\n"]
    paste = "Paste the address that the browser ends up at. It cannot connect there, and need not.\n"
    return [*parts, (f"Or: {paste}" if tunnel else paste, "$quiet")]


def _client(run: SignIn) -> Parts:
    parts: Parts = [safe(run.client_reason, 600) or "A client is needed there, and none is configured.", "\n"]
    if redirect := safe(run.redirect_uri, 400):
        keeps = f"{kept}.\n" if (kept := port_kept(run.redirect_uri)) else ""
        parts.append((f"Register one there with this redirect, and enter its id here: {redirect}\n{keeps}", "$quiet"))
    return parts


def exchange_line(exchange: AuthExchange) -> Parts:
    """One exchange: method, address, status, time."""
    status = f"{exchange.status}" if exchange.status else "no answer"
    look = "$text-success" if 200 <= exchange.status < 400 else "$text-warning"
    took = f"  {units.duration(exchange.ms)}" if exchange.ms else ""
    method, url = safe(exchange.method, 20), safe(exchange.url, 600)
    return [(f"{method} ", "$quiet"), url, (f" {glyphs().sent} ", "$quiet"), (status, look), (took, "$quiet")]


def _ended(run: SignIn) -> Parts:
    """Why it failed, what should have been sent, and what was."""
    error = run.error
    look = "$state-failed" if run.state == "failed" else "$quiet"
    mark = glyphs().bad if run.state == "failed" else glyphs().dot
    message = error.message if error else "It was cancelled."
    parts: Parts = [(f"{mark} {safe(message, 1_500, lines=True)}\n", look)]
    failed = next((step for step in run.steps if step.state == "failed"), None)
    hints = dict.fromkeys(filter(None, (error.hint if error else "", failed.hint if failed else "")))
    parts += [f"{safe(hint, 1_000, lines=True)}\n" for hint in hints]
    if failed is not None and failed.exchanges:
        newest = failed.exchanges[-1]
        beginning = "\n".join(safe(newest.response, 1_200, lines=True).split("\n")[:_LINES])
        parts += ["\n", *exchange_line(newest), "\n", (f"{beginning}\n", "$quiet")]
    return [*parts, "Nothing is kept of it.\n"]


def _done(run: SignIn, situation: Situation) -> Parts:
    account = run.account
    parts: Parts = [(f"{glyphs().ok} Signed in to {safe(run.server, 60)}.\n", "bold $state-ready")]
    if (status := situation.status) is not None and status.state != "ready":
        # A token may be right and still not be enough for the server.
        look = "$state-failed" if connections.tone(status) == "bad" else "$quiet"
        parts.append((f"{connections.state_words(status)}\n", look))
    if account is not None:
        parts += [("scopes    ", "$quiet"), safe(" ".join(account.scopes), 600) or "none are named", "\n"]
        parts += [*_valid(account), ("kept in   ", "$quiet"), safe(account.kept, 300), "\n"]
    if situation.warning:
        parts.append((f"{glyphs().warning} {safe(situation.warning, 400)}\n", "$state-busy"))
    return parts


def exchange_text(exchanges: Sequence[AuthExchange]) -> str:
    """Exchanges as they were, one below the other."""
    return "\n\n".join(
        f"{one.purpose}\n\n{glyphs().sent} {one.method} {one.url}\n{one.request.rstrip()}\n\n"
        f"{glyphs().received} {one.status or 'no answer'} after {units.duration(one.ms)}\n{one.response.rstrip()}"
        for one in exchanges
    )


def step_text(step: AuthStep) -> str:
    """What came out of a step, on a line."""
    # Why a step failed stands in the card, with what should have been sent.
    return "" if step.state == "failed" else safe(f"{step.detail} {step.hint}".strip(), 900)
