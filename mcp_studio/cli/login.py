"""`auth login`: sign in to a server, or go on with a sign-in that was set aside."""

from __future__ import annotations

import sys
from dataclasses import replace

from mcp_studio.auth.accounts import Accounts
from mcp_studio.auth.model import Account
from mcp_studio.auth.signin import SignIn
from mcp_studio.browser import NONE
from mcp_studio.cli import remote, signed_in
from mcp_studio.cli.engine import execute
from mcp_studio.cli.given import given_bytes
from mcp_studio.cli.lines import Lines, can_ask
from mcp_studio.cli.options import Options
from mcp_studio.cli.output import Output, SignInAt
from mcp_studio.cli.passphrase import typed
from mcp_studio.cli.plan import Plan
from mcp_studio.cli.sign_in_words import login_command, steps_json
from mcp_studio.cli.signing_in import Guide, Opener
from mcp_studio.config.alone import see_to
from mcp_studio.config.model import Config, ServerConfig
from mcp_studio.errors import SignInNeeded, StudioError, Unreachable, UsageError, renamed
from mcp_studio.jsontext import Json
from mcp_studio.studio import Studio


def login(config: Config, server: ServerConfig, options: Options, out: Output) -> int:
    """Sign in; returns the exit code: 3 where nobody can."""
    remote.refuse_own(server)
    if options.flag("--step") and not can_ask():
        raise UsageError("--step needs a terminal: it waits before each request.")
    server = _adjusted(server, options, out)
    if options.flag("--register") and (server.auth.client_id or remote.alone(server)):
        hint = "Register one there by hand, and name it: --client-id ID, or client_id in its auth table."
        raise UsageError(f"The client of {server.name} is named, and not registered by us.", hint=hint)
    if (seconds := options.seconds) is not None:
        limits = replace(config.settings.limits, sign_in=seconds)
        config = replace(config, settings=replace(config.settings, limits=limits))
    redirect = _redirect(options, out)
    plan = Plan(replace(config, servers={server.name: replace(server, enabled=False)}), server.name)
    return execute(plan, out, lambda studio: _sign_in(studio, server, redirect, options, out))


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


async def _sign_in(studio: Studio, server: ServerConfig, redirect: str, options: Options, out: Output) -> int:
    out.server = server.name
    accounts, tap = studio.accounts, studio.manager.supervisor(server.name).tap
    opener = Opener(NONE if options.flag("--no-browser") else studio.config.settings.browser)
    accounts.browser, accounts.stays = opener, False
    if not remote.alone(server):
        await accounts.unlock()  # before anything is sent, not after a browser
    if redirect:
        sign_in = accounts.sign_in(server, tap, redirect_url=redirect)
    else:
        scopes = await _scopes(accounts, server, options)
        step, anew = options.flag("--step"), options.flag("--register")
        sign_in = accounts.sign_in(server, tap, scopes=scopes, step_by_step=step, anew=anew)
    if server.tls.insecure:
        out.warn("Any certificate is accepted (insecure): whoever is on the way can take the sign-in.")
    if accounts.keeping == "memory":
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
    found: dict[str, Json] = {**signed_in.with_claims(account), "steps": steps_json(sign_in.steps)}
    if error is not None:
        out.warn(f"Whether {server.name} takes the token is not known: {error.message}")
        found["untried"] = out.redactor.text(error.message)
    out.result = found
    return out.done()


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
        if remote.alone(server)
        else f"Signing in at {account.issuer} went well, and the token is kept: it is the server that does not take "
        f"it. What it says, and for whom it is meant: {look}"
    )
    detail: dict[str, Json] = {"issuer": account.issuer, "steps": steps_json(sign_in.steps)}
    return out.fail(renamed(error, SignInNeeded, hint), detail)


async def _scopes(accounts: Accounts, server: ServerConfig, options: Options) -> tuple[str, ...]:
    """What to ask for besides what the server names: asking for more must not lose what there is."""
    wanted = [scope for text in options.values("--scope") for scope in text.split()]
    known = await accounts.account(server) if wanted else None
    return tuple(dict.fromkeys([*(known.scopes if known else ()), *wanted]))


def _tell(account: Account, out: Output) -> None:
    scopes = f" ({' '.join(account.scopes)})" if account.scopes else ""
    out.data(f"Signed in to {account.server} at {account.issuer}{scopes}")
    out.note(f"  {signed_in.phrase(signed_in.validity(account))}")


def _failed(error: StudioError, sign_in: SignIn, out: Output) -> int:
    detail: dict[str, Json] = {"steps": steps_json(sign_in.steps)}
    if isinstance(error, SignInAt):
        out.data(error.url)
    return out.fail(error, detail)
