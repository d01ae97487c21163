"""Finds out which servers a command line is about, and prepares to start them as early as possible."""

from __future__ import annotations

import re
import shutil
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal, cast

from mcp_studio.cli.grammar import GROUPS
from mcp_studio.cli.options import Options
from mcp_studio.cli.terminal import Output
from mcp_studio.config.expand import effective, uses
from mcp_studio.config.load import load
from mcp_studio.config.model import Config, Era, Kind, Problem, Root, ServerConfig, Timeouts
from mcp_studio.config.secrets import secret_values
from mcp_studio.config.servers import wrong_address
from mcp_studio.config.table import nearest
from mcp_studio.errors import ConfigError, UsageError
from mcp_studio.paths import Paths
from mcp_studio.protocol.versions import contradiction, era_of
from mcp_studio.redact import is_reference
from mcp_studio.vault.keyring import session

NAME = "target"
"""Name of a server that is given on the command line."""


def from_root(text: str) -> Root:
    """Read a root from the command line: a URI or a folder.

    Raises:
        UsageError: there is no such folder.
    """
    if "://" in text:
        return Root(text)
    folder = Path(text).expanduser()
    if not folder.is_dir():
        raise UsageError(f"--root: there is no folder {text}.", hint="An address of another kind is written file://…")
    return Root(folder.absolute().as_uri())


def from_url(
    url: str, headers: Mapping[str, str] | Sequence[tuple[str, str]] = (), transport: str = ""
) -> ServerConfig:
    """Build the entry of a server at a URL. `${NAME}` in header values is replaced.

    Raises:
        UsageError: it is not a URL of http, https, ws or wss.
        ConfigError: a header names an environment variable that is not set.
    """
    if wrong := wrong_address(url):
        raise UsageError(f"`{url}` is no URL of a server: it {wrong}.")
    if transport and (transport == "websocket") != url.startswith("ws"):
        begin = "ws:// or wss://" if transport == "websocket" else "http:// or https://"
        raise UsageError(f"The transport {transport} needs a URL that begins with {begin}.")
    # Only headers can contain references: the URL comes from a shell, and is taken literally.
    given = effective(ServerConfig(NAME, headers=dict(headers)))
    server = replace(given, url=url, transport=cast("Kind", transport), written=None)
    return replace(server, secrets=tuple(dict.fromkeys((*given.secrets, *secret_values(server)))))


def from_command(argv: Sequence[str]) -> ServerConfig:
    """Build the entry of a server started by a command. Words are taken literally: the shell has already expanded them.

    Raises:
        UsageError: there is no command.
    """
    if not argv or not argv[0]:
        raise UsageError("There is no command after --.")
    server = ServerConfig(NAME, command=argv[0], args=tuple(argv[1:]))
    return replace(server, secrets=tuple(secret_values(server)))


def from_module(path: str) -> ServerConfig:
    """Build the entry of a server for a Python file. It is reloaded when it changes, and its name is the server's.

    Raises:
        UsageError: there is no such file.
    """
    file = Path(path).expanduser().absolute()
    if not file.is_file():
        raise UsageError(f"--module: {path} is {'a folder' if file.is_dir() else 'not there'}.", hint="Name a file.")
    name, args = re.sub(r"[^\w-]", "_", file.stem), ("-m", "mcp_studio.servers.module", str(file))
    return ServerConfig(name, command=sys.executable, args=args, watch=(str(file),), inherit_env=("PYTHONPATH",))


def adjusted(server: ServerConfig, options: Options) -> ServerConfig:
    """Apply the options of the command line to an entry; they win over the configuration file.

    Raises:
        UsageError: era and version contradict each other, something is not a JSON object, or a root is not a folder.
    """
    changes: dict[str, Any] = {}
    era, version = cast("Era | Literal['']", options.value("--era")), options.value("--protocol-version")
    if era and version and (wrong := contradiction(era, version)):
        raise UsageError(f"--protocol-version: {wrong}")
    if version:
        changes |= {"protocol_version": version, "era": era or era_of(version) or "auto"}
    elif era:
        pin = "" if contradiction(era, server.protocol_version) else server.protocol_version
        changes |= {"protocol_version": pin, "era": era}
    for option, key in (("--capabilities", "capabilities"), ("--client-info", "client_info")):
        if options.value(option):
            changes[key] = options.object(option)
    if roots := options.values("--root"):
        changes["roots"] = tuple(map(from_root, roots))
    if level := options.value("--log-level"):
        changes["log_level"] = level
    if options.flag("--detach"):  # a task of 2025-11-25 lives in the HTTP session, and dies with it
        changes["keep_session"] = True
    if (seconds := options.seconds()) is not None:
        changes["timeouts"] = Timeouts(seconds, seconds, seconds, "--timeout")
    return replace(_reached(server, options) if server.url else server, **changes)


def _reached(server: ServerConfig, options: Options) -> ServerConfig:
    """Apply the options for certificates and headers to the entry of a server at a URL."""
    files = (("ca", "--ca"), ("cert", "--cert"), ("key", "--cert-key"))
    if empty := next((name for _, name in files if options.flag(name) and not options.value(name)), ""):
        raise UsageError(f"{empty} needs the name of a file.")
    given = {key: str(Path(file).expanduser().absolute()) for key, name in files if (file := options.value(name))}
    if "cert" in given:
        given.setdefault("key", "")
    tls = replace(server.tls, **given, insecure=server.tls.insecure or options.flag("--insecure"))
    if tls.key and not tls.cert:
        raise UsageError("--cert-key is the key of a certificate: --cert FILE is missing.")
    if server.source.origin != "argument" and (headers := options.headers):
        more = from_url(server.url, headers)
        secrets = tuple(dict.fromkeys((*server.secrets, *more.secrets)))
        server = replace(server, headers={**server.headers, **more.headers}, secrets=secrets)
    return replace(server, tls=tls)


_LEAVE = 0.05
"""Seconds that a server has to exit by itself after a verb."""


def target(options: Options) -> ServerConfig | None:
    """Return the server that the command line itself gives, if any.

    Raises:
        UsageError: several were given, or the given one is invalid.
    """
    url = options.value("--url") or (options.words[0] if not options.verb and options.words else "")
    module = options.value("--module")
    given = [bool(url), options.command is not None, bool(options.values("--config")), bool(module)]
    if sum(given) > 1:
        raise UsageError("Give one of --config, --url, --module and -- COMMAND.")
    if module:
        return adjusted(from_module(module), options)
    if url:
        return adjusted(from_url(url, options.headers, options.value("--transport")), options)
    if options.flag("--transport"):
        raise UsageError("--transport is for a server at a URL: --url URL --transport http|sse|websocket.")
    if options.command is not None:
        if wrong := next((one.name for one in GROUPS["remote"] if options.flag(one.name)), ""):
            raise UsageError(f"{wrong} is for servers at a URL.")
        return adjusted(from_command(options.command), options)
    return None


def ourselves() -> list[str]:
    """Return the words that start this program again, for a client's configuration file."""
    program = shutil.which("mcp-studio", path=str(Path(sys.executable).parent))
    return [program] if program else [sys.executable, "-m", "mcp_studio"]


def demo(options: Options) -> ServerConfig:
    """Return the bundled demo server, started with this Python.

    Raises:
        UsageError: further words were given.
    """
    if options.words or options.command is not None:
        raise UsageError("`demo` takes no further words.")
    module = ("-m", "mcp_studio.servers.demo")
    # In a source checkout, only PYTHONPATH may lead to the package.
    server = ServerConfig("demo", command=sys.executable, args=module, inherit_env=("PYTHONPATH",))
    return adjusted(server, options)


def configuration(options: Options, paths: Paths, own: ServerConfig | None, *, secrets: bool = True) -> Config:
    """Load the configuration. If the command line gives a server, only that one is kept, with the person's settings.

    Args:
        secrets: look up the stored secrets in entries now. Otherwise `with_secrets` does so, only for servers in use.

    Raises:
        ConfigError: a file given by `--config` cannot be used at all.
        UsageError: an option's value is wrong.
    """
    files = [Path(name).expanduser() for name in options.values("--config")]
    # If no configured server is connected to, there is no need to ask anybody to unlock secrets.
    needless = not secrets or own is not None
    config = load(paths, Path.cwd(), files=files, secrets="${{keyring:{}}}".format if needless else None)
    settings = config.settings
    if options.verb not in ("", "demo"):
        # A verb ends as soon as it has its answer: a server that does not exit quickly is terminated.
        settings = replace(settings, limits=replace(settings.limits, leave=min(settings.limits.leave, _LEAVE)))
    settings = replace(settings, traceparent=settings.traceparent or options.flag("--traceparent"))
    config = replace(config, settings=settings)
    if own is not None:
        broken = tuple(problem for problem in config.problems if not problem.key.startswith("servers."))
        return replace(config, servers={own.name: own}, problems=broken, untrusted=())
    if files and (broken := next((problem for problem in config.problems if not problem.key), None)):
        raise _broken(broken)
    return replace(config, servers={name: adjusted(server, options) for name, server in config.servers.items()})


def _broken(problem: Problem) -> ConfigError:
    return ConfigError(f"{problem.file}: {problem.message}", file=problem.file, hint=problem.hint)


def with_secrets(config: Config, out: Output) -> Config:
    """Fill in the stored secrets of a verb's servers, and teach `out` to hide them.

    Raises:
        ConfigError: a secret is missing, and its server is named, or no server is left.
    """
    options, ask = out.options, session()
    servers, lacking = dict(config.servers), dict[str, ConfigError]()
    for name, server in config.servers.items():
        if next(uses(server), None) is None:
            continue
        try:
            ready = adjusted(effective(server, keyring=ask), options)
            servers[name] = replace(ready, enabled=server.enabled, start=server.start, log_level=server.log_level)
        except ConfigError as error:
            del servers[name]
            file, key = server.source.file, f"servers.{name}.{error.key}"
            message = f"The server `{name}` cannot be used: {file}: {key}: {error.message}"
            lacking[name] = ConfigError(message, file=file, key=key, hint=error.hint)
    named = {word.partition(".")[0] for word in (*options.words, *options.values("--server"))}
    for name, error in lacking.items():
        if not servers or name in named:
            raise error
        out.warn(f"{error.message} {error.hint}".strip())
    return learn(replace(config, servers=servers), out)


def configured(out: Output) -> Config:
    """Load what a verb works on: the configured servers, or the one given on the command line.
    Stored secrets are not looked up yet. Prints the problems of the configuration.
    """
    if out.shell is not None:
        return out.shell.config
    config = learn(configuration(out.options, Paths.default(), target(out.options), secrets=False), out)
    tell_problems(config, out)
    return config


def tell_problems(config: Config, out: Output) -> None:
    """Warn of problems in a configuration, and of files that nobody has agreed to."""
    out.warn(*config.problems)
    out.note(*(f"{one.file} is not in use: agree to it by `mcp-studio config trust`" for one in config.untrusted))


def learn(config: Config, out: Output) -> Config:
    """Teach `out` to hide the secret values of all entries; returns the configuration."""
    for server in config.servers.values():
        for secret in server.secrets:
            if not is_reference(secret):
                out.redactor.learn(secret)
    return config


def select(config: Config, names: Sequence[str]) -> Config:
    """Keep only the named servers, and start each of them. Without names, keep the enabled ones.

    Raises:
        UsageError: there is no such server, or no server at all.
        ConfigError: the server was left out because its entry has a mistake.
    """
    if unknown := [name for name in names if name not in config.servers]:
        name, problem = unknown[0], config.problem_of(unknown[0])
        if problem is not None:
            message = f"The server `{name}` cannot be used: {problem}"
            raise ConfigError(message, file=problem.file, key=problem.key)
        hint = nearest(name, config.servers) or "`mcp-studio list servers` shows the configured servers."
        raise UsageError(f"There is no server `{name}`.", hint=hint)
    chosen = names or [name for name, server in config.servers.items() if server.enabled]
    if servers := {name: replace(config.servers[name], enabled=True, start="") for name in chosen}:
        return replace(config, servers=servers)
    if broken := next((one for one in config.problems if not one.key), None):
        raise _broken(broken)
    if config.servers:
        raise UsageError("All configured servers are disabled.", hint="Name one: --server NAME")
    hint = "Give one with --url URL or -- COMMAND ARGS…, or add one: mcp-studio config add …"
    raise UsageError("No servers are configured.", hint=hint)


def of_server(out: Output, most: int, skip: int = 0) -> tuple[Config, str, list[str]]:
    """Split the words of a verb that takes `[SERVER] WORD…`. Returns the configuration, the server and the other words.

    Args:
        most: the verb takes at most this many other words. If there is one more, the first is the server.
        skip: this many leading words name the action.

    Raises:
        UsageError: there are too many words.
        UsageError, ConfigError: see `select`.
    """
    config, server, rest = configured(out), server_option(out.options), out.options.words[skip:]
    if not server and rest and (rest[0] in config.servers or len(rest) > most):
        server = rest.pop(0)
    if len(rest) > most:
        raise UsageError(f"`{rest[most]}` is too much.")
    out.server = server or config.only
    return select(config, [out.server] if out.server else []), out.server, rest


def state_text(server: ServerConfig) -> str:
    """Describe what is unusual about an entry; empty if nothing is."""
    insecure = "INSECURE: any certificate is accepted" if server.tls.insecure else ""
    return ", ".join(filter(None, ("" if server.enabled else "disabled", insecure)))


def server_option(options: Options) -> str:
    """Return the value of `--server`, for verbs that work with one server."""
    names = options.values("--server")
    if len(names) > 1:
        raise UsageError(f"`{options.verb}` is about one server.")
    return names[0] if names else ""


def own_server(options: Options, config: Config) -> str:
    """Return the name of the server that the command line itself gives; empty if it gives none."""
    brings = options.command is not None or options.flag("--url") or options.flag("--module")
    return next(iter(config.servers)) if brings else ""
