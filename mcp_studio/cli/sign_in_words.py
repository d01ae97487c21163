"""How a sign-in is told: its steps, its exchanges, and the page that a person has to open."""

from __future__ import annotations

import shlex
import time
from collections.abc import Mapping, Sequence
from urllib.parse import urlsplit

from mcp_studio.auth.claims import span
from mcp_studio.auth.model import AuthExchange, AuthStep
from mcp_studio.auth.signin import SignIn
from mcp_studio.browser import ssh_line
from mcp_studio.config.model import ServerConfig
from mcp_studio.jsontext import Json
from mcp_studio.safetext import safe
from mcp_studio.session.sign_in_words import command

MARKS = {"done": "✓", "failed": "✗", "skipped": "–"}
"""State of a step that has come to its end -> its mark."""
_LONGEST = 16_384


def login_command(config: ServerConfig) -> str:
    """The command line that signs in to a server, or goes on with that."""
    if config.source.origin == "argument":
        return f"mcp-studio auth login --url {shlex.quote((config.written or config).url)}"
    return command(config)


def step_line(step: AuthStep) -> str:
    """A step that has come to its end; why one failed is told by the error."""
    detail = f": {safe(step.detail, 600)}" if step.detail and step.state != "failed" else ""
    return f"{MARKS[step.state]} {safe(step.title)}{detail}"


def exchange_line(exchange: AuthExchange) -> str:
    """One exchange that has come to its end."""
    how = f"{exchange.status}, {exchange.ms:.0f} ms" if exchange.status else safe(exchange.response, 300)
    return f"    {exchange.method} {safe(exchange.url, 300)}  {how}"


def page_lines(sign_in: SignIn) -> list[str]:
    """The page that a person has to open, alone on its line, and what to know of it."""
    host = urlsplit(sign_in.authorization_url).hostname or "?"
    found = [f"Sign in at {safe(host)}:", "", safe(sign_in.authorization_url, _LONGEST), ""]
    return [*found, *(f"  {safe(warning)}" for warning in sign_in.warnings)]


def waiting_lines(sign_in: SignIn, environ: Mapping[str, str], *, asks: bool) -> list[str]:
    """How it goes on from there; `asks`: what the browser ends on can be pasted."""
    found = ["The browser was asked to open it." if sign_in.opened else "Open it in a browser."]
    left = span(max(sign_in.until - time.monotonic(), 0.0) + 0.5)
    if sign_in.started_callback:
        found.append(f"Waiting {left} until it comes back to {safe(sign_in.redirect_uri)}; ctrl+c gives up.")
        if line := ssh_line(sign_in.redirect_uri, environ):
            found += ["With a browser on the machine that you come from, run there first:", f"  {line}"]
    if asks:
        elsewhere = (
            "If the browser ends on an address that it cannot show" if sign_in.started_callback else "At the end"
        )
        found.append(f"{elsewhere}, paste that address here.")
    return found


def steps_json(steps: Sequence[AuthStep]) -> list[Json]:
    """The steps with their exchanges, for scripts."""
    return [
        {
            "step": step.name, "title": step.title, "state": step.state, "detail": step.detail or None,
            "hint": step.hint or None,
            "exchanges": [
                {"number": one.number, "purpose": one.purpose, "method": one.method, "url": one.url,
                 "status": one.status or None, "ms": round(one.ms, 1)}
                for one in step.exchanges
            ],
        }
        for step in steps
    ]  # fmt: skip
