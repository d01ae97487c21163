"""Sentences about a server that requires a sign-in: why, which command helps, and why none is needed."""

from __future__ import annotations

import re
import shlex
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from mcp_studio.config.model import ServerConfig
from mcp_studio.errors import SignInNeeded, StudioError

if TYPE_CHECKING:
    from mcp_studio.auth.signin import SignIn

PORT = 7338
"""The port of redirects if it is free and none is configured. It is fixed so that people can register the redirect."""
_SCOPE = r'\bscope="([\x20\x21\x23-\x5b\x5d-\x7e]{1,500})"'
"""The scopes in a challenge (RFC 6750 3)."""
_SAME = " requires you to sign in."
"""The end of the reason where the server has given no details."""
_TOKENS = r"(?i)\b(bearer|dpop)\b"
"""The schemes whose tokens a sign-in can get; Basic and others require credentials that the person has."""


def command(config: ServerConfig, challenge: str = "") -> str:
    """The command line that signs in to a server, with the scopes that a challenge calls missing."""
    missing = re.search(_SCOPE, challenge[:4_096]) if "insufficient_scope" in challenge[:4_096] else None
    scope = f" --scope {shlex.quote(missing[1])}" if missing else ""
    if config.source.origin == "argument":
        return f"mcp-studio auth login --url {shlex.quote((config.written or config).url)}{scope}"
    file = f" --config {shlex.quote(config.source.file)}" if config.source.origin == "file" else ""
    return f"mcp-studio auth login {shlex.quote(config.name)}{file}{scope}"


def why_nobody(config: ServerConfig) -> str:
    """How a server without a sign-in gets its credentials, or that it needs none; empty where a person signs in."""
    if config.signs_in:
        return f"by itself ({config.auth.kind})" if config.auth.alone else ""
    means = "by its headers_command" if config.headers_command else "by credentials that stand in its entry"
    return 'never (kind = "none")' if config.auth.kind == "none" else means


def port_kept(uri: str) -> str:
    """How a person can keep the redirect URI of a hand-registered client the same; empty for the default port."""
    port = urlsplit(uri).port if uri else PORT
    return "" if port in (PORT, None) else f"redirect_port = {port} in its auth table keeps that port"


def see_to(server: str) -> str:
    """The hint for a server whose tokens need no person: nobody can sign in to it."""
    return f"Nobody signs in here: check [servers.{server}.auth], and what its authorization server allows it."


def client_needed(sign_in: SignIn, finish: str) -> SignInNeeded:
    """The error of a sign-in that lacks a client id; `finish` is the command line that continues it."""
    redirect = sign_in.redirect_uri
    note = f" ({advice})" if (advice := port_kept(redirect)) else ""
    where = f", with the redirect {redirect}{note}" if redirect else ""
    hint = f"Register one there by hand{where}: {finish} --client-id ID, and --client-secret - for its secret."
    return SignInNeeded(f"A client id is needed: {sign_in.client_reason}", hint=hint)


def nobody_is_here(sign_in: SignIn, finish: str) -> SignInNeeded:
    """The error of a sign-in whose page nobody can open; its detail has the `url` of that page."""
    notes = " ".join(
        step.hint for step in sign_in.steps if step.state in ("waiting", "running", "asking") and step.hint
    )
    return SignInNeeded(
        f"Nobody is here who could sign in to {sign_in.server}: there is no terminal, and no browser that "
        f"could open the page. {notes}".rstrip(),
        hint=f"Open the address in a browser; it ends on one that begins with {sign_in.redirect_uri}. Give that "
        f"on standard input within 15 minutes: {finish} --redirect - "
        f"If the page does not know the client: {finish.replace('auth login', 'auth forget', 1)} --client",
        detail={"url": sign_in.authorization_url},
    )


def add_hint(error: StudioError, config: ServerConfig) -> None:
    """Give an error a hint, such as the command that signs in; an error with a better hint keeps it."""
    challenge = str(getattr(error, "challenge", ""))
    if challenge and not re.search(_TOKENS, challenge[:4_096]):
        return
    if error.exit_code == 3 and (challenge or not error.hint) and config.signs_in:
        error.hint = see_to(config.name) if config.auth.alone else f"Sign in: {command(config, challenge)}"
        if isinstance(error, SignInNeeded):
            error.by_login = not config.auth.alone


def wants(server: str, reason: str, *, how: str = "") -> str:
    """Say that a server requires a sign-in, and why, unless the reason only repeats this. Contains foreign text."""
    head = f"{server} requires you to sign in{how}"
    return f"{head}: {reason}" if adds(reason) else f"{head}."


def adds(reason: str) -> bool:
    """Whether a reason says more than that the server requires a sign-in."""
    return bool(reason) and not reason.endswith(_SAME)
