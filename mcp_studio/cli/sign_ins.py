"""`auth status`: who is signed in where, as a table, or all that is known of some servers."""

from __future__ import annotations

from mcp_studio.auth.model import Account
from mcp_studio.cli import remote, signed_in
from mcp_studio.cli.output import Output
from mcp_studio.cli.rows import table
from mcp_studio.cli.sign_in_words import login_command
from mcp_studio.config.model import Config, ServerConfig
from mcp_studio.errors import SignInNeeded
from mcp_studio.jsontext import Json

_HEADS = ("server", "signed in", "authorization server", "scopes", "kept in")


async def overview(config: Config, out: Output) -> int:
    """A line for each server at a URL, and for each sign-in to one that is not configured now."""
    left = {(one.resource, one.account): one for one in await remote.accounts(config, out).accounts()}
    rows: list[tuple[str, ...]] = []
    found: list[Json] = []
    for server in config.servers.values():
        if not server.url:
            continue
        account = left.get((remote.resource(server), server.auth.whose)) if server.signs_in else None
        rows.append(_row(server.name, account, own(server) or "no"))
        found.append(facts(server, account))
    known = {(remote.resource(server), server.auth.whose) for server in config.servers.values() if server.url}
    for account in (one for key, one in left.items() if key not in known):
        rows.append(_row(account.server, account, f"not configured now: {account.resource}"))
        found.append({**signed_in.facts(account), "configured": False})
    for line in table([_HEADS, *rows] if rows else []):
        out.data(line)
    if not rows:
        out.note("No servers at a URL are configured, and nobody is signed in anywhere.")
    return out.done(found)


async def whole(config: Config, servers: list[ServerConfig], out: Output) -> int:
    """All that is known of the sign-ins to these servers; returns the exit code: 3 where one is missing."""
    accounts = remote.accounts(config, out)
    found: list[Json] = []
    missing: list[ServerConfig] = []
    for number, server in enumerate(servers):
        account = await accounts.account(server) if server.signs_in else None
        found.append(facts(server, account, claims=True))
        if not own(server) and not (account and signed_in.usable(account)):
            missing.append(server)
        if number:
            out.data("")
        rows = list(signed_in.lines(account)) if account else [("server", server.name)]
        rows += [] if account else [("signed in", own(server) or "nobody is")]
        for line in table(rows):
            out.data(line)
    result: Json = found[0] if len(found) == 1 else found
    if missing:
        names = ", ".join(server.name for server in missing)
        error = SignInNeeded(f"Nobody is signed in to {names}.", hint=f"Sign in: {login_command(missing[0])}")
        return out.fail(error, {"result": result})
    return out.done(result)


def own(server: ServerConfig) -> str:
    """Why no person signs in to a server; empty where one does."""
    if remote.alone(server):
        return f"by itself ({server.auth.kind})"
    if server.signs_in:
        return ""
    return 'never (kind = "none")' if server.auth.kind == "none" else "by a header of its entry"


def facts(server: ServerConfig, account: Account | None, *, claims: bool = False) -> dict[str, Json]:
    """What is known, for scripts."""
    if account is not None:
        return signed_in.with_claims(account) if claims else signed_in.facts(account)
    return {
        "server": server.name, "resource": remote.resource(server), "signedIn": False,
        "how": own(server) or None,
    }  # fmt: skip


def _row(name: str, account: Account | None, about: str) -> tuple[str, ...]:
    if account is None:
        return name, about, "", "", ""
    state = signed_in.validity(account) + ("" if about == "no" else f", {about}")
    return name, state, account.issuer, " ".join(account.scopes), account.kept.partition(" /")[0]
