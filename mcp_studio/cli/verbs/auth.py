"""`auth`: sign in to servers at a URL, see who is signed in where, and end it."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable, Callable
from dataclasses import replace

from mcp_studio.auth.model import Account
from mcp_studio.browser import NONE
from mcp_studio.cli import remote, sign_ins, signed_in
from mcp_studio.cli.engine import execute
from mcp_studio.cli.login import login
from mcp_studio.cli.options import Options
from mcp_studio.cli.output import Output
from mcp_studio.cli.plan import Plan
from mcp_studio.cli.sign_in_words import login_command
from mcp_studio.cli.signing_in import Guide, Opener
from mcp_studio.config.model import Config, ServerConfig
from mcp_studio.config.nearest import nearest
from mcp_studio.errors import SignInNeeded, StudioError, UsageError
from mcp_studio.jsontext import Json, pretty
from mcp_studio.studio import Studio

_ONLY = {
    "--scope": "login", "--issuer": "login", "--client-id": "login", "--client-secret": "login", "--step": "login",
    "--no-browser": "login", "--redirect": "login", "--register": "login", "--claims": "token", "--client": "forget",
}  # fmt: skip
"""Option -> the action that it is for."""

Action = Callable[[Config, list[str], Options, Output], int]


def run(options: Options, out: Output) -> int:
    """Do what the word after `auth` says; returns the exit code."""
    word, *words = options.words or ["status"]
    actions: dict[str, Action] = {
        "login": _login, "status": _status, "token": _token, "refresh": _refresh, "logout": _logout, "forget": _forget,
    }  # fmt: skip
    if word not in actions:
        raise UsageError(f"`auth` knows no `{word}`.", hint=nearest(word, actions) or "mcp-studio auth --help")
    for name, action in _ONLY.items():
        if options.flag(name) and action != word:
            raise UsageError(f"{name} is for `auth {action}`.")
    return actions[word](remote.configuration(options, out), words, options, out)


def _login(config: Config, words: list[str], options: Options, out: Output) -> int:
    return login(config, _one(config, words, options, out), options, out)


def _status(config: Config, words: list[str], options: Options, out: Output) -> int:
    if not words and not options.value("--url") and options.command is None:
        return asyncio.run(sign_ins.overview(config, out))
    servers = remote.named(config, words, options, out)
    out.server = servers[0].name if len(servers) == 1 else ""
    return asyncio.run(sign_ins.whole(config, servers, out))


def _token(config: Config, words: list[str], options: Options, out: Output) -> int:
    async def show(studio: Studio, server: ServerConfig) -> Json:
        tap = studio.manager.supervisor(server.name).tap
        if remote.alone(server):
            sign_in = studio.accounts.sign_in(server, tap)
            guide = Guide(sign_in, out.note, None, Opener(NONE), finish=login_command(server))
            await guide.run(sign_in.run())
        token = await studio.accounts.token(server, tap)
        if (account := await studio.accounts.account(server)) is None:
            raise SignInNeeded(f"Nobody is signed in to {server.name}.", hint=f"Sign in: {login_command(server)}")
        return _print_token(token, account, options, out)

    return _with_studio(config, words, options, out, show)


def _print_token(token: str, account: Account, options: Options, out: Output) -> Json:
    """Print it, or what it says; returns the result."""
    if options.flag("--claims"):
        if not account.claims:
            raise StudioError(f"The access token of {account.server} says nothing that can be read: it is no JWT.")
        out.data(pretty(account.claims))
        return account.claims
    if sys.stdout.isatty() and not out.json:
        out.warn("Whoever has this token can use the server in your name; it stands on your screen now.")
    if account.token_type == "DPoP":
        out.warn("It is bound to a key: alone, without a proof made for each request, servers do not accept it.")
    line = f"Authorization: {account.token_type} {token}"
    out.data(line if options.flag("--header") else token)
    return {"token": token, "header": line, "expires": signed_in.when(account.expires)}


def _refresh(config: Config, words: list[str], options: Options, out: Output) -> int:
    async def refresh(studio: Studio, server: ServerConfig) -> Json:
        account = await studio.accounts.refresh(server, studio.manager.supervisor(server.name).tap)
        if lost := studio.accounts.unkept:
            raise StudioError(lost[0], hint=f"It ends with this command; sign in again: {login_command(server)}")
        out.note(f"renewed: {signed_in.phrase(signed_in.validity(account))}")
        return signed_in.facts(account)

    return _with_studio(config, words, options, out, refresh)


def _logout(config: Config, words: list[str], options: Options, out: Output) -> int:
    async def sign_out(studio: Studio, server: ServerConfig) -> Json:
        said = await studio.accounts.sign_out(server, studio.manager.supervisor(server.name).tap)
        out.note(said)
        return {"server": server.name, "message": said}

    return _with_studio(config, words, options, out, sign_out)


def _forget(config: Config, words: list[str], options: Options, out: Output) -> int:
    async def forget(studio: Studio, server: ServerConfig) -> Json:
        tokens, client = await studio.accounts.forget(server, client=options.flag("--client"))
        gone = [f"the sign-in to {server.name}"] * tokens + ["who we are at its authorization server"] * client
        nobody = f"Nobody was signed in to {server.name}."
        unknown = "Nothing is known of a client there." if options.flag("--client") and not client else ""
        out.note(" ".join(filter(None, (f"forgotten: {', and '.join(gone)}" if gone else nobody, unknown))))
        return {"server": server.name, "tokens": tokens, "client": client}

    return _with_studio(config, words, options, out, forget)


def _with_studio(
    config: Config,
    words: list[str],
    options: Options,
    out: Output,
    work: Callable[[Studio, ServerConfig], Awaitable[Json]],
) -> int:
    """Do something for one server with a studio around it, so that what is sent is recorded."""
    server = _one(config, words, options, out)
    remote.refuse_own(server)
    plan = Plan(replace(config, servers={server.name: replace(server, enabled=False)}), server.name)

    async def body(studio: Studio) -> int:
        return out.done(await work(studio, server))

    return execute(plan, out, body)


def _one(config: Config, words: list[str], options: Options, out: Output) -> ServerConfig:
    if len(words) > 1:
        raise UsageError(f"`{words[1]}` is too much: it is about one server.")
    (server,) = remote.named(config, words, options, out)
    out.server = server.name
    return server
