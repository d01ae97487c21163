"""`auth`: sign in to servers at a URL, see who is signed in where, and end it."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable, Callable
from dataclasses import replace

from mcp_studio.auth.model import Account
from mcp_studio.auth.signin import SignIn
from mcp_studio.cli import accounts
from mcp_studio.cli.arguments import given_bytes
from mcp_studio.cli.engine import execute
from mcp_studio.cli.grammar import VERBS
from mcp_studio.cli.options import Options
from mcp_studio.cli.output import Output, SignInAt, table
from mcp_studio.cli.sign_in import Guide, Opener, login_command, steps_json
from mcp_studio.cli.targets import configured
from mcp_studio.cli.terminal import Lines, can_ask, typed
from mcp_studio.config.expand import see_to
from mcp_studio.config.model import Config, ServerConfig
from mcp_studio.config.table import nearest
from mcp_studio.errors import SignInNeeded, StudioError, Unreachable, UsageError, renamed
from mcp_studio.jsontext import Json, pretty
from mcp_studio.present.browser import NONE
from mcp_studio.studio import Studio


def _login(config: Config, words: list[str], out: Output) -> int:
    options, server = out.options, _one(config, words, out)
    accounts.refuse_own(server)
    if options.flag("--step") and not can_ask():
        raise UsageError("--step needs a terminal: it waits before each request.")
    server = _adjusted(server, options, out)
    if options.flag("--register") and (server.auth.client_id or accounts.alone(server)):
        hint = "Register one there by hand, and name it: --client-id ID, or client_id in its auth table."
        raise UsageError(f"The client of {server.name} is named, and not registered by us.", hint=hint)
    if (seconds := options.seconds()) is not None:
        limits = replace(config.settings.limits, sign_in=seconds)
        config = replace(config, settings=replace(config.settings, limits=limits))
    redirect = _redirect(options, out)
    return execute(_alone(config, server), out, lambda studio: _sign_in(studio, server, redirect, out), answers=False)


def _adjusted(server: ServerConfig, options: Options, out: Output) -> ServerConfig:
    """The entry with what the command line says over it."""
    auth, secret = server.auth, options.value("--client-secret")
    if secret and secret[0] not in "-@":
        hint = "--client-secret - reads it from standard input, or asks for it; --client-secret @FILE reads a file."
        raise UsageError("A secret in the words of a command stays in the list of processes.", hint=hint)
    if secret and not (options.value("--client-id") or auth.client_id):
        raise UsageError("--client-secret belongs to a client: --client-id ID is missing.")
    if issuer := options.value("--issuer"):
        auth = replace(auth, issuer=issuer)
    if found := options.value("--client-id"):
        auth = replace(auth, client_id=found, client_secret="")
    if secret:
        auth = replace(auth, client_secret=_secret(secret, out))
    return replace(server, auth=auth)


def _secret(given: str, out: Output) -> str:
    if given == "-" and can_ask():
        text = typed("Client secret: ")
    else:
        text = given_bytes("--client-secret", given).decode("utf-8", "replace").strip()
    if not text:
        raise UsageError("--client-secret: it is empty.")
    out.redactor.learn(text)
    return text


def _redirect(options: Options, out: Output) -> str:
    """The address that the browser ended on; nothing of it is shown any more."""
    given = options.value("--redirect")
    if given == "-":
        given = typed("The address that the browser ended on: ") if can_ask() else sys.stdin.readline(1 << 20).strip()
    if options.flag("--redirect") and not given:
        raise UsageError("--redirect: there is no address.", hint="It is the one that the browser ended on.")
    if given:
        out.redactor.learn(given)
    return given


async def _sign_in(studio: Studio, server: ServerConfig, redirect: str, out: Output) -> int:
    options, tap = out.options, studio.manager.supervisor(server.name).tap
    opener = Opener(NONE if options.flag("--no-browser") else studio.config.settings.browser)
    studio.accounts.browser, studio.accounts.stays = opener, False
    if not accounts.alone(server):
        await studio.accounts.unlock()  # before anything is sent, not after a browser
    if redirect:
        sign_in = studio.accounts.sign_in(server, tap, redirect_url=redirect)
    else:
        scopes = await _scopes(studio, server, options)
        step, anew = options.flag("--step"), options.flag("--register")
        sign_in = studio.accounts.sign_in(server, tap, scopes=scopes, step_by_step=step, anew=anew)
    if server.tls.insecure:
        out.warn("Any certificate is accepted (insecure): whoever is on the way can take the sign-in.")
    if studio.accounts.keeping == "memory":
        out.warn("What signing in brings is kept in memory only: it ends with this command.")
    lines = Lines() if can_ask() else None
    guide = Guide(sign_in, out.note, lines, opener, finish=login_command(server))
    try:
        await guide.run(sign_in.run())
    except StudioError as error:
        return _failed(error, sign_in, out)
    if (account := sign_in.account) is None:
        return _failed(StudioError("It is not known what signing in has brought."), sign_in, out)
    error = await _tried(studio, server)
    if isinstance(error, SignInNeeded):
        return _refused(error, server, account, sign_in, out)
    _tell(account, out)
    found: dict[str, Json] = {**accounts.with_claims(account), "steps": steps_json(sign_in.steps)}
    if error is not None:
        out.warn(f"Whether {server.name} takes the token is not known: {error.message}")
        found["untried"] = out.redactor.text(error.message)
    return out.done(found)


async def _tried(studio: Studio, server: ServerConfig) -> StudioError | None:
    """Connect once with what signing in brought: only the server knows whether it takes that. What it met."""
    studio.manager.start(server.name)
    status = await studio.manager.settle(server.name)
    return None if status.state == "ready" else status.error or Unreachable(f"{server.name} is {status.state}.")


def _refused(error: StudioError, server: ServerConfig, account: Account, sign_in: SignIn, out: Output) -> int:
    """The authorization server gave a token that the server does not take: nobody is helped by signing in again."""
    look = login_command(server).replace("auth login", "auth status", 1)
    hint = (
        f"{account.issuer} gave a token; it is the server that does not take it. {see_to(server)}"
        if accounts.alone(server)
        else f"Signing in at {account.issuer} went well, and the token is kept: it is the server that does not take "
        f"it. What it says, and for whom it is meant: {look}"
    )
    detail: dict[str, Json] = {"issuer": account.issuer, "steps": steps_json(sign_in.steps)}
    return out.fail(renamed(error, SignInNeeded, hint), detail)


async def _scopes(studio: Studio, server: ServerConfig, options: Options) -> tuple[str, ...]:
    """What to ask for besides what the server names: asking for more must not lose what there is."""
    wanted = [scope for text in options.values("--scope") for scope in text.split()]
    known = await studio.accounts.account(server) if wanted else None
    return tuple(dict.fromkeys([*(known.scopes if known else ()), *wanted]))


def _tell(account: Account, out: Output) -> None:
    scopes = f" ({' '.join(account.scopes)})" if account.scopes else ""
    out.data(f"Signed in to {account.server} at {account.issuer}{scopes}")
    out.note(f"  {accounts.phrase(accounts.validity(account))}")


def _failed(error: StudioError, sign_in: SignIn, out: Output) -> int:
    detail: dict[str, Json] = {"steps": steps_json(sign_in.steps)}
    if isinstance(error, SignInAt):
        out.data(error.url)
    return out.fail(error, detail)


_HEADS = ("server", "signed in", "authorization server", "scopes", "kept in")


async def overview(config: Config, out: Output) -> int:
    """A line for each server at a URL, and for each sign-in to one that is not configured now."""
    left = {(one.resource, one.account): one for one in await accounts.accounts(config, out).accounts()}
    rows: list[tuple[str, ...]] = []
    found: list[Json] = []
    for server in config.servers.values():
        if not server.url:
            continue
        account = left.get((accounts.resource(server), server.auth.whose)) if server.signs_in else None
        rows.append(_row(server.name, account, own(server) or "no"))
        found.append(facts(server, account))
    known = {(accounts.resource(server), server.auth.whose) for server in config.servers.values() if server.url}
    for account in (one for key, one in left.items() if key not in known):
        rows.append(_row(account.server, account, f"not configured now: {account.resource}"))
        found.append({**accounts.facts(account), "configured": False})
    for line in table([_HEADS, *rows] if rows else []):
        out.data(line)
    if not rows:
        out.note("No servers at a URL are configured, and nobody is signed in anywhere.")
    return out.done(found)


async def whole(config: Config, servers: list[ServerConfig], out: Output) -> int:
    """All that is known of the sign-ins to these servers; returns the exit code: 3 where one is missing."""
    kept = accounts.accounts(config, out)
    found: list[Json] = []
    missing: list[ServerConfig] = []
    for number, server in enumerate(servers):
        account = await kept.account(server) if server.signs_in else None
        found.append(facts(server, account, claims=True))
        if not own(server) and not (account and accounts.usable(account)):
            missing.append(server)
        if number:
            out.data("")
        rows = list(accounts.lines(account)) if account else [("server", server.name)]
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
    if accounts.alone(server):
        return f"by itself ({server.auth.kind})"
    if server.signs_in:
        return ""
    return 'never (kind = "none")' if server.auth.kind == "none" else "by a header of its entry"


def facts(server: ServerConfig, account: Account | None, *, claims: bool = False) -> dict[str, Json]:
    """What is known, for scripts."""
    if account is not None:
        return accounts.with_claims(account) if claims else accounts.facts(account)
    return {
        "server": server.name, "resource": accounts.resource(server), "signedIn": False,
        "how": own(server) or None,
    }  # fmt: skip


def _row(name: str, account: Account | None, about: str) -> tuple[str, ...]:
    if account is None:
        return name, about, "", "", ""
    state = accounts.validity(account) + ("" if about == "no" else f", {about}")
    return name, state, account.issuer, " ".join(account.scopes), account.kept.partition(" /")[0]


_ONLY = {"--claims": "token", "--client": "forget"}
"""Option -> the action that it is for; others of `auth` are for `login`."""

Action = Callable[[Config, list[str], Output], int]


def run(options: Options, out: Output) -> int:
    """Do what the word after `auth` says; returns the exit code."""
    word, *words = options.words or ["status"]
    actions: dict[str, Action] = {
        "login": _login, "status": _status, "token": _token, "refresh": _refresh, "logout": _logout, "forget": _forget,
    }  # fmt: skip
    if word not in actions:
        raise UsageError(f"`auth` knows no `{word}`.", hint=nearest(word, actions) or "mcp-studio auth --help")
    for option in VERBS["auth"].options:
        if options.flag(option.name) and (action := _ONLY.get(option.name, "login")) != word:
            raise UsageError(f"{option.name} is for `auth {action}`.")
    return actions[word](configured(out), words, out)


def _status(config: Config, words: list[str], out: Output) -> int:
    if not words and not out.options.value("--url"):
        return asyncio.run(overview(config, out))
    servers = accounts.named(config, words, out)
    out.server = servers[0].name if len(servers) == 1 else ""
    return asyncio.run(whole(config, servers, out))


def _token(config: Config, words: list[str], out: Output) -> int:
    async def show(studio: Studio, server: ServerConfig) -> Json:
        tap = studio.manager.supervisor(server.name).tap
        if accounts.alone(server):
            sign_in = studio.accounts.sign_in(server, tap)
            guide = Guide(sign_in, out.note, None, Opener(NONE), finish=login_command(server))
            await guide.run(sign_in.run())
        token = await studio.accounts.token(server, tap)
        if (account := await studio.accounts.account(server)) is None:
            raise SignInNeeded(f"Nobody is signed in to {server.name}.", hint=f"Sign in: {login_command(server)}")
        return _print_token(token, account, out)

    return _with_studio(config, words, out, show)


def _print_token(token: str, account: Account, out: Output) -> Json:
    """Print it, or what it says; returns the result."""
    if out.options.flag("--claims"):
        if not account.claims:
            raise StudioError(f"The access token of {account.server} says nothing that can be read: it is no JWT.")
        out.data(pretty(account.claims))
        return account.claims
    if sys.stdout.isatty() and not out.json:
        out.warn("Whoever has this token can use the server in your name; it stands on your screen now.")
    if account.token_type == "DPoP":
        out.warn("It is bound to a key: alone, without a proof made for each request, servers do not accept it.")
    line = f"Authorization: {account.token_type} {token}"
    out.data(line if out.options.flag("--header") else token)
    return {"token": token, "header": line, "expires": accounts.when(account.expires)}


def _refresh(config: Config, words: list[str], out: Output) -> int:
    async def refresh(studio: Studio, server: ServerConfig) -> Json:
        account = await studio.accounts.refresh(server, studio.manager.supervisor(server.name).tap)
        if lost := studio.accounts.unsaved:
            raise StudioError(lost[0], hint=f"It ends with this command; sign in again: {login_command(server)}")
        out.note(f"renewed: {accounts.phrase(accounts.validity(account))}")
        return accounts.facts(account)

    return _with_studio(config, words, out, refresh)


def _logout(config: Config, words: list[str], out: Output) -> int:
    async def sign_out(studio: Studio, server: ServerConfig) -> Json:
        said = await studio.accounts.sign_out(server, studio.manager.supervisor(server.name).tap)
        out.note(said)
        return {"server": server.name, "message": said}

    return _with_studio(config, words, out, sign_out)


def _forget(config: Config, words: list[str], out: Output) -> int:
    async def forget(studio: Studio, server: ServerConfig) -> Json:
        wanted = out.options.flag("--client")
        tokens, client = await studio.accounts.forget(server, client=wanted)
        gone = [f"the sign-in to {server.name}"] * tokens + ["who we are at its authorization server"] * client
        nobody = f"Nobody was signed in to {server.name}."
        unknown = "Nothing is known of a client there." if wanted and not client else ""
        out.note(" ".join(filter(None, (f"forgotten: {', and '.join(gone)}" if gone else nobody, unknown))))
        return {"server": server.name, "tokens": tokens, "client": client}

    return _with_studio(config, words, out, forget)


def _with_studio(
    config: Config, words: list[str], out: Output, work: Callable[[Studio, ServerConfig], Awaitable[Json]]
) -> int:
    """Do something for one server with a studio around it, so that what is sent is recorded."""
    server = _one(config, words, out)
    accounts.refuse_own(server)

    async def body(studio: Studio) -> int:
        return out.done(await work(studio, server))

    return execute(_alone(config, server), out, body, answers=False)


def _alone(config: Config, server: ServerConfig) -> Config:
    """Only this server, which is not connected to by itself."""
    return replace(config, servers={server.name: replace(server, enabled=False)})


def _one(config: Config, words: list[str], out: Output) -> ServerConfig:
    if len(words) > 1:
        raise UsageError(f"`{words[1]}` is too much: it is about one server.")
    (server,) = accounts.named(config, words, out)
    out.server = server.name
    return server
