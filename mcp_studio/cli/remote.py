"""Which servers `auth` is about: those at a URL to which we sign in."""

from __future__ import annotations

from dataclasses import replace

from mcp_studio.auth.accounts import Accounts
from mcp_studio.auth.address import resource_of
from mcp_studio.cli import targets
from mcp_studio.cli.options import Options
from mcp_studio.cli.output import Output
from mcp_studio.config.model import Config, ServerConfig
from mcp_studio.errors import StudioError, UsageError
from mcp_studio.paths import Paths
from mcp_studio.vault.keyring import passphrase


def configuration(options: Options, out: Output) -> Config:
    """All that is configured, or the server given on the command line; kept secrets are not looked up yet."""
    config = targets.configuration(options, Paths.default(), targets.target(options), secrets=False)
    targets.learn(config, out)
    targets.tell_problems(config, out)
    return config


def accounts(config: Config, out: Output) -> Accounts:
    """The sign-ins of this person, without a studio around them."""
    return Accounts(config.settings, Paths.default(), config.settings.limits, out.redactor, passphrase=passphrase())


def named(config: Config, words: list[str], options: Options, out: Output) -> list[ServerConfig]:
    """The servers that are named, or the only one that can be meant, with the kept secrets that their entries use.

    Raises:
        UsageError, ConfigError: there is no such server, or none at a URL.
    """
    if options.value("--url") or options.command is not None:
        if words:
            raise UsageError(f"`{words[0]}` is too much: --url names the server.")
        found = list(config.servers.values())
    elif words:
        found = list(targets.select(config, words).servers.values())
    else:
        found = [server for server in config.servers.values() if server.url]
        if len(found) != 1:
            names = ", ".join(server.name for server in found)
            hint = (
                f"Servers at a URL are {names}."
                if names
                else "mcp-studio config add URL adds one, --url URL names one."
            )
            raise UsageError("Which server?" if found else "No servers at a URL are configured.", hint=hint)
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
