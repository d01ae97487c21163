"""What `doctor` says of servers at a URL: how they are reached, who is signed in, and where that is kept."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

from mcp_studio.auth.address import tidy
from mcp_studio.auth.discovery import is_loopback
from mcp_studio.cli import signed_in
from mcp_studio.cli.remote import alone
from mcp_studio.cli.sign_in_words import login_command
from mcp_studio.config.model import ServerConfig
from mcp_studio.errors import ConfigError, StudioError
from mcp_studio.jsontext import Json
from mcp_studio.studio import Studio
from mcp_studio.transport.proxies import route_to

_PATIENCE = 5.0
"""Seconds for a keyring to answer; it may be waiting for somebody to unlock it."""
_PLAIN = ("http:", "ws:")


async def report(studio: Studio, server: ServerConfig) -> dict[str, Json]:
    """How a server at a URL is reached and signed in to; nothing secret is in it."""
    try:
        route = route_to(server.url)
        proxy = f"{route.place} ({route.variable})" if route is not None else None
    except ConfigError as error:
        proxy = f"✗ {error.message}"
    found: dict[str, Json] = {"tls": _tls(server), "insecure": server.tls.insecure, "proxy": proxy}
    if not server.signs_in:
        never = server.auth.kind == "none"
        return found | {"signIn": None, "credentials": "none" if never else "in its entry"}
    return found | {"signIn": await _signed_in(studio, server)}


async def _signed_in(studio: Studio, server: ServerConfig) -> Json:
    try:
        async with asyncio.timeout(_PATIENCE):
            account = await studio.account(server.name)
    except TimeoutError:
        return {"problem": "What is kept could not be looked at: the keyring does not answer."}
    except StudioError as error:
        return {"problem": f"{error.message} {error.hint}".rstrip()}
    if account is None:
        return {"signedIn": False}
    return {**signed_in.facts(account), "valid": signed_in.validity(account)}


def _tls(server: ServerConfig) -> str:
    tls = server.tls
    if server.url.startswith(_PLAIN):
        try:
            near = is_loopback(tidy(server).url)
        except StudioError as error:
            return f"✗ {error.message}"
        return "none: it is on this machine" if near else "✗ none: what is sent is read on the way"
    if tls.insecure:
        return "✗ NOT CHECKED: any certificate is accepted (insecure = true)"
    more = [f"also by the authorities in {tls.ca}"] * bool(tls.ca)
    more += [f"we show the client certificate {tls.cert}"] * bool(tls.cert)
    return ", ".join(["certificates are checked", *more])


def lines(report: dict[str, Json], server: ServerConfig) -> Iterator[str]:
    """The same as text."""
    yield f"  tls          {report['tls']}"
    if report["proxy"]:
        yield f"  proxy        {report['proxy']}"
    found = report["signIn"]
    if found is None:
        kind = "never: kind = none" if report["credentials"] == "none" else "by credentials that stand in its entry"
        yield f"  signed in    {kind}"
    elif "problem" in found:
        yield f"  signed in    ✗ {found['problem']}"
    elif "issuer" not in found:
        if alone(server):
            yield f"  signed in    not yet: by itself ({server.auth.kind}), when the server wants it"
            return
        wanted = "" if report["state"] == "needs_auth" else ", should it want that"
        yield f"  signed in    nobody is{wanted}: {login_command(server)}"
    else:
        scopes = f", scopes {' '.join(found['scopes'])}" if found["scopes"] else ""
        yield f"  signed in    at {found['issuer']}{scopes}"
        yield f"  token        {signed_in.phrase(found['valid'])}; kept in {found['kept']}"
