"""What is known of sign-ins, in words and as JSON; no secret is among it."""

from __future__ import annotations

import time
from dataclasses import replace

from mcp_studio.auth.accounts import Accounts
from mcp_studio.auth.discovery import resource_of
from mcp_studio.auth.model import Account
from mcp_studio.cli import targets
from mcp_studio.cli.output import Output
from mcp_studio.config.model import Config, ServerConfig
from mcp_studio.errors import StudioError, UsageError
from mcp_studio.jsontext import Json
from mcp_studio.paths import Paths
from mcp_studio.present.accounts import account_rows, claim_rows, rough_span


def validity(account: Account, now: float | None = None) -> str:
    """Until when its access token is good, and what happens then."""
    if not account.expires:
        return "no end is known" + (", renewed when refused" if account.refreshable else "")
    left = account.expires - (time.time() if now is None else now)
    if left >= 1:
        return f"for {rough_span(left)}" + (", then renewed" if account.refreshable else "")
    ended = f"expired {rough_span(-left)} ago" if left <= -1 else "just expired"
    return ended + (", is renewed when used" if account.refreshable else "")


def phrase(valid: str) -> str:
    """What `validity` says where no heading stands before it: `valid for 5 minutes`, `expired 5 minutes ago`."""
    return f"valid {valid}" if valid.startswith("for ") else valid


def usable(account: Account, now: float | None = None) -> bool:
    """Whether something can be sent to the server without a person."""
    return account.refreshable or not account.expires or account.expires > (time.time() if now is None else now)


def when(moment: float) -> str | None:
    """A moment for scripts, in UTC; None where it is not known."""
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(moment)) if moment else None


def facts(account: Account) -> dict[str, Json]:
    """Everything that may be shown, as JSON."""
    return {
        "server": account.server, "resource": account.resource, "account": account.account or None,
        "signedIn": usable(account), "issuer": account.issuer, "scopes": list(account.scopes),
        "obtained": when(account.obtained), "expires": when(account.expires), "refreshable": account.refreshable,
        "kept": account.kept, "clientId": account.client_id, "client": account.client_how,
        "tokenType": account.token_type, "revocable": account.revocable,
    }  # fmt: skip


def with_claims(account: Account) -> dict[str, Json]:
    """The same with what the tokens say."""
    return facts(account) | {"claims": account.claims or None, "idClaims": account.id_claims or None}


def lines(account: Account, now: float | None = None) -> list[tuple[str, str]]:
    """Everything that may be shown, as rows of a table."""
    now = time.time() if now is None else now
    rows = [("server", account.server), *account_rows(account, now)]
    for title, claims in (("claims", account.claims), ("id token", account.id_claims)):
        rows += [(f"{title}: {label}", text) for label, text in claim_rows(claims, now)]
    return rows


def accounts(config: Config, out: Output) -> Accounts:
    """The sign-ins of this person, without a studio around them."""
    return Accounts(config.settings, Paths.default(), config.settings.limits, out.redactor)


def named(config: Config, words: list[str], out: Output) -> list[ServerConfig]:
    """The servers that are named, or the only one that can be meant, with the kept secrets that their entries use.

    Raises:
        UsageError, ConfigError: there is no such server, or none at a URL.
    """
    options = out.options
    if options.value("--url") or options.command is not None:
        if words:
            raise UsageError(f"`{words[0]}` is too much: --url names the server.")
        found = list(config.servers.values())
    elif words:
        found = list(targets.select(config, words).servers.values())
    else:
        found = [server for server in config.servers.values() if server.url]
        if len(found) != 1:
            names = ", ".join(server.name for server in found) or "none; mcp-studio config add URL adds one"
            raise UsageError("Which server?", hint=f"Servers at a URL: {names}.")
    for server in found:
        if not server.url:
            hint = "What it needs is in its environment: see `env` in its entry."
            raise UsageError(f"{server.name} is a program on this machine; there is no signing in to it.", hint=hint)
    config = replace(config, servers={server.name: server for server in found})
    return list(targets.with_secrets(config, options, out).servers.values())


def refuse_own(server: ServerConfig) -> None:
    """Refuse servers to which nobody signs in.

    Raises:
        UsageError: it is one.
    """
    if server.signs_in:
        return
    if server.auth.kind == "none":
        raise UsageError(f'{server.name} is never signed in to: its entry says `kind = "none"`.')
    raise UsageError(
        f"{server.name} is sent credentials that stand in its entry; there is no signing in to it.",
        hint=f"Take them out, or say in [servers.{server.name}.auth] which kind of sign-in to use all the same.",
    )


def alone(server: ServerConfig) -> bool:
    """Whether its tokens are got without a person, whenever one is needed."""
    return server.signs_in and server.auth.alone


def resource(server: ServerConfig) -> str:
    """The address under which its sign-in is kept; empty where the address is none."""
    try:
        return resource_of(server)
    except (StudioError, ValueError):
        return ""
