"""What the dialog of signing in says in each state: the steps as rows, and the card below them. Pure."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping, Sequence
from textwrap import wrap
from typing import NamedTuple

from mcp_studio.auth.model import Account, AuthExchange, AuthStep, StepState, port_kept
from mcp_studio.auth.signin import SignIn
from mcp_studio.present import connections, units
from mcp_studio.present.accounts import span
from mcp_studio.present.browser import ssh_line
from mcp_studio.safetext import safe
from mcp_studio.session.state import Status
from mcp_studio.tui.address_text import host_parts
from mcp_studio.tui.exchange_text import set_out
from mcp_studio.tui.views.glyphs import glyphs
from mcp_studio.tui.views.line import cut
from mcp_studio.urls import judge

Part = str | tuple[str, str]
Key = Callable[[str], str]
"""The key of an action as the person has it."""

_LONGEST = 10_000
_BODY = 4_000
_LABEL = len("redirect  ")
_LINES = 12
"""Of the answer to which a step failed."""
_SIGNS: Mapping[StepState, tuple[str, str]] = {
    "done": ("ok", "ok"),
    "running": ("half", "warn"),
    "asking": ("waiting", "accent"),
    "failed": ("bad", "bad"),
    "waiting": ("off", "dim"),
    "skipped": ("dash", "dim"),
}


class Matter(NamedTuple):
    """What is known before anything has begun."""

    server: str
    address: str
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
    """How the server is now."""
    account: Account | None = None
    """The sign-in that is in use."""


class Row(NamedTuple):
    """A line of the list of steps."""

    step: AuthStep
    line: int
    """0 is the step itself; further ones are of its detail."""
    text: str


TITLE = 25
"""Cells of a step's title; what came out stands beside it."""


def rows(steps: Sequence[AuthStep], width: int, most: int = 4) -> list[Row]:
    """The steps with what came out of them, wrapped to a width on at most so many lines each."""
    found: list[Row] = []
    room = max(16, width - TITLE - len("✓ ") - len(" 12 »"))
    for step in steps:
        # Why a step failed stands below, with what should have been sent.
        said = "" if step.state == "failed" else f"{step.detail} {step.hint}".strip()
        lines = _wrapped(safe(said, 900), room, most)
        found.append(Row(step, 0, lines[0] if lines else ""))
        found += [Row(step, number, line) for number, line in enumerate(lines[1:], 1)]
    return found


def sign(step: AuthStep) -> tuple[str, str]:
    """The mark of a step and the name of its look."""
    name, look = _SIGNS[step.state]
    return getattr(glyphs(), name), look


def _wrapped(text: str, width: int, most: int) -> list[str]:
    if most == 1:
        return [cut(text, width, more=glyphs().more)]
    return wrap(text, width, max_lines=most, placeholder=glyphs().more, break_on_hyphens=False)


# The card


def before(matter: Matter, key: Key) -> list[Part]:
    """Nothing has begun."""
    parts: list[Part] = []
    if matter.reason:
        parts += [safe(matter.reason, 1_000), "\n"]
    if matter.scopes:
        parts += [("asks for  ", "$quiet"), safe(" ".join(matter.scopes), 600), "\n"]
    if matter.refusal:
        message, _, hint = matter.refusal.partition("\n")
        parts += [("\n" if parts else "", ""), (f"{glyphs().bad} {safe(message, 600)}\n", "$state-failed")]
        parts.append(f"{safe(hint, 800, lines=True)}\n\n" if hint else "\n")
        return [*parts, f"{key('sign-in-keep')}  chooses where else the tokens are kept.\n"]
    if matter.kept:
        parts += [("kept in   ", "$quiet"), safe(matter.kept, 300), "\n"]
    if matter.warning:
        parts.append((f"{glyphs().warning} {safe(matter.warning, 400)}\n", "$state-busy"))
    opens = "opens your browser" if matter.browser else "gives you an address to open in a browser elsewhere"
    if matter.alone:
        opens = "no person is needed, the server's entry says how"
    if matter.account is not None:
        parts += [("signed in ", "$quiet"), f"with {safe(matter.account.issuer, 300)}\n", *_valid(matter.account), "\n"]
        parts += [f"{key('sign-in-token')}  shows the token's details.\n"]
    else:
        parts += ["\n", ("Nothing has been sent yet.\n", "$quiet")]
    anew = " anew" if matter.account is not None else ""
    parts += [f"{key('sign-in-open')}  begins{anew}{':' if matter.alone else ', and'} {opens}.\n"]
    parts += [f"{key('sign-in-steps')}  begins{anew}, and stops before each request.\n"]
    return parts


def _valid(account: Account) -> list[Part]:
    left = f"for {span(account.expires - time.time())}" if account.expires else "it is not said for how long"
    renewed = "then it is renewed by itself" if account.refreshable else "then you have to sign in anew"
    return [("valid     ", "$quiet"), f"{left}; {renewed}\n"]


def card(run: SignIn, matter: Matter, key: Key, now: float | None = None) -> list[Part]:
    """What there is to know or do in the state that a sign-in is in."""
    match run.state:
        case "paused":
            return _paused(run, key)
        case "browser":
            return _browser(run, matter, key, time.monotonic() if now is None else now)
        case "choosing":
            count = units.plural(len(run.choices), "authorization server")
            return [f"The server names {count}. Which one do you use?\n"]
        case "client":
            return _client(run)
        case "failed" | "cancelled":
            return _ended(run, key)
        case "done":
            return _done(run, matter, key)
        case _:
            return _last(run)


def _paused(run: SignIn, key: Key) -> list[Part]:
    following = run.next_request
    if following is None:
        return []
    parts: list[Part] = [("Next  ", "$quiet"), (safe(following.purpose, 200), "b"), "\n"]
    parts += [(safe(following.method, 20), "b $accent"), " ", safe(following.url, _LONGEST), "\n"]
    head, _, body = following.request.partition("\n\n")
    parts.append((f"{safe(head, _BODY, lines=True)}\n", "$quiet"))
    if body:
        parts += ["\n", safe(set_out(body), _BODY, lines=True), "\n"]
    return [*parts, "\n", f"{key('sign-in-next')}  sends it   {key('sign-in-through')}  sends all that follow\n"]


def _browser(run: SignIn, matter: Matter, key: Key, now: float) -> list[Part]:
    page = judge(run.authorization_url)
    left = f"  {span(run.until - now)} left" if run.until else ""
    where = "Your browser has the page" if run.opened else "The page waits for you"
    parts: list[Part] = [(where, "b"), (left, "$quiet"), "\n", *host_parts(page, _LABEL)]
    warned = set(page.warnings) | {page.refusal}
    parts += [(f"{glyphs().warning} {safe(one, 400)}\n", "$state-busy") for one in run.warnings if one not in warned]
    if run.refusal and run.refusal not in warned:
        parts.append((f"{glyphs().bad} Not opened: {safe(run.refusal, 400)}\n", "$state-failed"))
    parts += ["\n", *(_here(run, key) if matter.browser or run.opened else _elsewhere(run, key)), "\n"]
    parts += [("redirect  ", "$quiet"), safe(run.redirect_uri, 400), "\n"]
    return [*parts, ("address\n", "$quiet"), safe(page.url, _LONGEST), "\n"]


def _here(run: SignIn, key: Key) -> list[Part]:
    again = " again" if run.opened else ""
    parts: list[Part] = [
        f"{key('sign-in-browser')}  opens it{again}   {key('sign-in-copy')}  copies it   "
        f"{key('sign-in-paste')}  takes the redirect by hand\n"
    ]
    if not run.started_callback:
        parts.append((_NO_LISTENER, "$quiet"))
    return parts


_NO_LISTENER = "Nothing listens for the browser here: paste the address that it ends up at.\n"


def _elsewhere(run: SignIn, key: Key) -> list[Part]:
    """Another machine's browser: what to copy, and the two ways back."""
    parts: list[Part] = [
        (f"{glyphs().warning} No browser can be opened here: open the address on your own machine.\n", "$state-busy"),
        f"{key('sign-in-copy')}  copies it.\n",
    ]
    tunnel = ssh_line(run.redirect_uri, os.environ) if run.started_callback else ""
    if tunnel:
        parts += [("To let it come back by itself, run this there first:\n", "$quiet"), ("  ", ""), (tunnel, "b"), "\n"]
    words = (
        f"{'Or' if tunnel else 'Then'} {key('sign-in-paste')} takes the address that the browser ends up at. "
        "It cannot connect there, and need not.\n"
    )
    return [*parts, (words, "$quiet")]


def _client(run: SignIn) -> list[Part]:
    parts: list[Part] = [safe(run.client_reason, 600) or "A client is needed there, and none is configured.", "\n"]
    redirect = safe(run.redirect_uri, 400)
    told = f"Register one there, with this redirect, and type its id here: {redirect}\n" if redirect else ""
    keeps = f"{kept}.\n" if (kept := port_kept(run.redirect_uri)) else ""
    return [*parts, (told + keeps, "$quiet")] if told else parts


def _last(run: SignIn) -> list[Part]:
    """The newest exchange, while it goes on by itself."""
    newest = newest_exchange(run.steps)
    return [*_line_of(newest), "\n"] if newest is not None else []


def newest_exchange(steps: Sequence[AuthStep]) -> AuthExchange | None:
    """The exchange that was begun last."""
    return next((step.exchanges[-1] for step in reversed(steps) if step.exchanges), None)


def _line_of(exchange: AuthExchange) -> list[Part]:
    status = f"{exchange.status}" if exchange.status else "no answer"
    look = "$text-success" if 200 <= exchange.status < 400 else "$text-warning"
    return [
        (f"{safe(exchange.method, 20)} ", "$quiet"),
        safe(exchange.url, 600),
        (f" {glyphs().sent} ", "$quiet"),
        (status, look),
        (f"  {units.duration(exchange.ms)}" if exchange.ms else "", "$quiet"),
    ]


def _ended(run: SignIn, key: Key) -> list[Part]:
    """Why it failed, what should have been sent, and what was."""
    error = run.error
    message = error.message if error else "It was stopped."
    look = "$state-failed" if run.state == "failed" else "$quiet"
    mark = glyphs().bad if run.state == "failed" else glyphs().dot
    parts: list[Part] = [(f"{mark} {safe(message, 1_500, lines=True)}\n", look)]
    hints = dict.fromkeys(
        filter(None, (error.hint if error else "", *(s.hint for s in run.steps if s.state == "failed")))
    )
    parts += [f"{safe(hint, 1_000, lines=True)}\n" for hint in hints]
    failed = next((step for step in run.steps if step.state == "failed"), None)
    if failed is not None and failed.exchanges:
        newest = failed.exchanges[-1]
        parts += ["\n", *_line_of(newest), "\n"]
        beginning = "\n".join(safe(newest.response, 1_200, lines=True).split("\n")[:_LINES])
        parts += [(f"{beginning}\n", "$quiet")]
        parts += [(f"{key('sign-in-open')} on the step shows all of it.\n", "$quiet")]
    return [*parts, "\n", f"{key('sign-in-again')}  begins anew. Nothing is kept of it.\n"]


def _done(run: SignIn, matter: Matter, key: Key) -> list[Part]:
    account = run.account
    parts: list[Part] = [(f"{glyphs().ok} Signed in to {safe(run.server, 60)}.\n", "b $state-ready")]
    if (status := matter.status) is not None and status.state != "ready":
        # A token may be right and still not be enough for the server.
        look = "$state-failed" if connections.tone(status) == "bad" else "$quiet"
        parts.append((f"{connections.state_words(status)}\n", look))
    if account is not None:
        parts += [("scopes    ", "$quiet"), safe(" ".join(account.scopes), 600) or "none are named", "\n"]
        parts += _valid(account)
        parts += [("kept in   ", "$quiet"), safe(account.kept, 300), "\n"]
    if matter.warning:
        parts.append((f"{glyphs().warning} {safe(matter.warning, 400)}\n", "$state-busy"))
    return [*parts, "\n", f"{key('sign-in-token')}  shows the token's details.\n"]
