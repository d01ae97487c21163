"""`auth`: sign in to servers at a URL, show who is signed in where, and sign out."""

from __future__ import annotations

import asyncio
import sys
import time
from dataclasses import replace

from mcp_studio.auth.accounts import Accounts
from mcp_studio.auth.discovery import resource_or_none
from mcp_studio.auth.hints import command, see_to, why_nobody
from mcp_studio.auth.model import Account
from mcp_studio.cli.engine import execute
from mcp_studio.cli.questions import SignInController
from mcp_studio.cli.targets import configured, select, with_secrets
from mcp_studio.cli.terminal import Lines, Output, can_ask, private
from mcp_studio.config.model import Config, ServerConfig
from mcp_studio.errors import SignInNeeded, StudioError, UsageError, renamed
from mcp_studio.jsontext import Json, pretty
from mcp_studio.paths import Paths
from mcp_studio.present.accounts import account_rows, as_json, claim_rows, steps_json, usable, utc, validity
from mcp_studio.present.browser import NONE
from mcp_studio.studio import Studio
from mcp_studio.transport.base import Tap


def run(out: Output) -> int:
    """Run the action named after `auth`. Returns the exit code."""
    options = out.options
    word, *words = options.words or ["status"]
    config = configured(out)
    if word == "status":
        named = _named(config, words, out) if words or options.value("--url") else []
        return asyncio.run(_status(config, named, out))
    if len(words) > 1:
        raise UsageError(f"`{words[1]}` is too much: it is about one server.")
    (server,) = _named(config, words, out)
    out.server = server.name
    if not server.signs_in:
        hint = f"Its entry can say otherwise: [servers.{server.name}.auth]"
        raise UsageError(f"Nobody signs in to {server.name}: {why_nobody(server)}.", hint=hint)
    if word == "login":
        return _login(config, server, out)
    work = {"token": _token, "refresh": _refresh, "logout": _logout, "forget": _forget}[word]

    async def body(studio: Studio) -> int:
        return out.done(await work(studio.sign_ins.accounts, server, studio.manager.supervisor(server.name).tap, out))

    config = replace(config, servers={server.name: server})
    return execute(config, out, body, answers=False, connects=False)


def _named(config: Config, words: list[str], out: Output) -> list[ServerConfig]:
    """Return the named servers, or the only possible one, with their stored secrets filled in.

    Raises:
        UsageError, ConfigError: there is no such server, or none of them is at a URL.
    """
    if words or out.options.command is not None:
        found = list(select(config, words).servers.values())
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
    return list(with_secrets(config, out).servers.values())


def _login(config: Config, server: ServerConfig, out: Output) -> int:
    options = out.options
    if options.flag("--step") and not can_ask():
        raise UsageError("--step needs a terminal: it waits before each request.")
    server = _adjusted(server, out)
    if options.flag("--register") and (server.auth.client_id or server.auth.alone):
        hint = "Register one there by hand, and name it: --client-id ID, or client_id in its auth table."
        raise UsageError(f"The client of {server.name} is named, and not registered by us.", hint=hint)
    if (seconds := options.seconds()) is not None:
        limits = replace(config.settings.limits, sign_in=seconds)
        config = replace(config, settings=replace(config.settings, limits=limits))
    redirect = _private("--redirect", "The address that the browser ended on: ", out)
    config = replace(config, servers={server.name: server})
    return execute(config, out, lambda studio: _sign_in(studio, server, redirect, out), answers=False, connects=False)


def _adjusted(server: ServerConfig, out: Output) -> ServerConfig:
    """Apply the command line's options to a server's entry."""
    options, auth = out.options, server.auth
    if issuer := options.value("--issuer"):
        auth = replace(auth, issuer=issuer)
    if client := options.value("--client-id"):
        auth = replace(auth, client_id=client, client_secret="")
    if secret := options.value("--client-secret"):
        if secret[0] not in "-@":
            hint = "--client-secret - reads it from standard input, or asks for it; --client-secret @FILE reads a file."
            raise UsageError("A secret in the words of a command stays in the list of processes.", hint=hint)
        if not auth.client_id:
            raise UsageError("--client-secret belongs to a client: --client-id ID is missing.")
        auth = replace(auth, client_secret=_private("--client-secret", "Client secret: ", out))
    return replace(server, auth=auth)


def _private(option: str, question: str, out: Output) -> str:
    """Return the value of an option that is never shown. `-` reads it from standard input or asks for it."""
    given = out.options.value(option)
    text = (private(question) if given == "-" else out.options.read(option).decode("utf-8", "replace")).strip()
    if out.options.flag(option) and not text:
        raise UsageError(f"{option} is empty.")
    out.redactor.learn(text)
    return text


async def _sign_in(studio: Studio, server: ServerConfig, redirect: str, out: Output) -> int:
    options, accounts, tap = out.options, studio.sign_ins.accounts, studio.manager.supervisor(server.name).tap
    accounts.stays = False
    if not server.auth.alone:
        await accounts.unlock()  # before anything is sent, not after the person was in the browser
    wanted = [scope for text in options.values("--scope") for scope in text.split()]
    known = await accounts.account(server) if wanted else None
    # Ask for the account's scopes as well: a sign-in for more must not lose those it has.
    scopes = tuple(dict.fromkeys([*(known.scopes if known else ()), *wanted]))
    step, anew = options.flag("--step"), options.flag("--register")
    sign_in = accounts.sign_in(server, tap, scopes=scopes, redirect_url=redirect, step_by_step=step, anew=anew)
    insecure = "Any certificate is accepted (insecure): whoever is on the way can take the sign-in."
    passing = "What signing in brings is stored in memory only: it ends with this command."
    out.warn(insecure * server.tls.insecure, passing * (accounts.keeping == "memory"))
    browser = NONE if options.flag("--no-browser") else studio.config.settings.browser
    lines = Lines() if can_ask() else None
    try:
        await SignInController(sign_in, out.note, lines, browser, finish=command(server)).run()
    except StudioError as error:
        if page := error.detail.get("url"):
            out.data(page)
        return out.fail(error, {"steps": steps_json(sign_in.steps)})
    assert sign_in.account is not None, "the sign-in is done"
    return await _try_token(studio, server, sign_in.account, steps_json(sign_in.steps), out)


async def _try_token(studio: Studio, server: ServerConfig, account: Account, steps: Json, out: Output) -> int:
    """Connect once with the new token, because only the server knows whether it accepts it. Prints the result."""
    studio.manager.start(server.name)
    status = await studio.manager.settle(server.name)
    if isinstance(status.error, SignInNeeded):
        look = see_to(server.name)
        if not server.auth.alone:
            look = f"The token is stored. What it says: {command(server).replace('auth login', 'auth status', 1)}"
        hint = f"{account.issuer} gave a token; it is the server that does not take it. {look}"
        return out.fail(renamed(status.error, SignInNeeded, hint), {"issuer": account.issuer, "steps": steps})
    found: dict[str, Json] = {**_with_claims(account), "steps": steps}
    scopes = f" ({' '.join(account.scopes)})" if account.scopes else ""
    out.data(f"Signed in to {account.server} at {account.issuer}{scopes}")
    out.note(f"  {validity(account)}")
    if status.state != "ready":
        found["untried"] = out.redactor.text(status.error.message if status.error else f"It is {status.state}.")
        out.warn(f"Whether {server.name} takes the token is not known: {found['untried']}")
    return out.done(found)


async def _status(config: Config, named: list[ServerConfig], out: Output) -> int:
    """Print a row for each server at a URL and each stored sign-in. For named servers print everything known.

    Returns:
        0, or 3 if a person has to sign in to one of the named servers.
    """
    accounts = Accounts(config.settings, Paths.default(), config.settings.limits, out.redactor)
    stored = {} if named else {(one.resource, one.account): one for one in await accounts.accounts()}
    rows, found, missing = list[tuple[str, ...]](), list[Json](), list[ServerConfig]()
    for server in named or [one for one in config.servers.values() if one.url]:
        resource, why = resource_or_none(server), why_nobody(server)
        account = stored.pop((resource, server.auth.whose), None)
        if named or not server.signs_in:
            account = await accounts.account(server) if server.signs_in else None
        if not why and not (account and usable(account)):
            missing.append(server)
        rows.append(_row(server.name, account, why or "no"))
        absent: Json = {"server": server.name, "resource": resource, "signedIn": False, "how": why or None}
        found.append(absent if account is None else _with_claims(account) if named else as_json(account))
        if named:
            _print(server, account, why, out)
    if not named:
        rows += [_row(one.server, one, f"not configured now: {one.resource}") for one in stored.values()]
        found += [{**as_json(one), "configured": False} for one in stored.values()]
        heads = ("server", "signed in", "authorization server", "scopes", "stored in")
        empty = "No servers at a URL are configured, and no sign-in is stored."
        return out.listing(rows, found, empty=empty, heads=heads)
    out.server = named[0].name if len(named) == 1 else ""
    result = found[0] if len(named) == 1 else found
    if missing:
        names = ", ".join(server.name for server in missing)
        error = SignInNeeded(f"Nobody is signed in to {names}.", hint=f"Sign in: {command(missing[0])}")
        return out.fail(error, {"result": result})
    return out.done(result)


def _row(name: str, account: Account | None, about: str) -> tuple[str, ...]:
    if account is None:
        return name, about, "", "", ""
    state = validity(account) + ("" if about == "no" else f", {about}")
    return name, state, account.issuer, " ".join(account.scopes), account.place.partition(" /")[0]


def _print(server: ServerConfig, account: Account | None, why: str, out: Output) -> None:
    """Print everything known about the sign-in to a server."""
    rows, now = [("server", server.name)], time.time()
    if account is None:
        rows.append(("signed in", why or "nobody is"))
    else:
        rows += account_rows(account, now)
        for title, claims in (("claims", account.claims), ("id token", account.id_claims)):
            rows += [(f"{title}: {label}", text) for label, text in claim_rows(claims, now)]
    out.table(rows)


def _with_claims(account: Account) -> dict[str, Json]:
    return as_json(account) | {"claims": account.claims or None, "idClaims": account.id_claims or None}


async def _token(accounts: Accounts, server: ServerConfig, tap: Tap, out: Output) -> Json:
    """Print the token, or the claims in it."""
    if server.auth.alone:
        await accounts.refresh(server, tap)
    token, account = await accounts.token(server, tap), await accounts.account(server)
    assert account is not None, "there is a token"
    if out.options.flag("--claims"):
        if not account.claims:
            raise StudioError(f"The access token of {account.server} says nothing that can be read: it is no JWT.")
        out.data(pretty(account.claims))
        return account.claims
    if sys.stdout.isatty() and not out.json:
        out.warn("Whoever has this token can use the server in your name; it stands on your screen now.")
    if account.token_type == "DPoP":
        out.warn("It is bound to a key: alone, without a proof made for each request, servers do not accept it.")
    header = f"Authorization: {account.token_type} {token}"
    out.data(header if out.options.flag("--header") else token)
    return {"token": token, "header": header, "expires": utc(account.expires)}


async def _refresh(accounts: Accounts, server: ServerConfig, tap: Tap, out: Output) -> Json:
    account = await accounts.refresh(server, tap)
    if lost := accounts.unsaved:
        raise StudioError(lost[0], hint=f"It ends with this command; sign in again: {command(server)}")
    out.note(f"renewed: {validity(account)}")
    return as_json(account)


async def _logout(accounts: Accounts, server: ServerConfig, tap: Tap, out: Output) -> Json:
    message = await accounts.sign_out(server, tap)
    out.note(message)
    return {"server": server.name, "message": message}


async def _forget(accounts: Accounts, server: ServerConfig, _: Tap, out: Output) -> Json:
    wanted = out.options.flag("--client")
    tokens, client = await accounts.forget(server, client=wanted)
    out.note(f"forgotten: the sign-in to {server.name}" if tokens else f"Nobody was signed in to {server.name}.")
    if wanted:
        out.note("forgotten: who we are there" if client else "Nothing is known of a client there.")
    return {"server": server.name, "tokens": tokens, "client": client}
