"""`config`: show and change the configuration."""

from __future__ import annotations

import sys
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, replace
from pathlib import Path

from mcp_studio.cli.options import Options
from mcp_studio.cli.output import Output, table
from mcp_studio.cli.terminal import can_ask, prompt
from mcp_studio.cli.verbs import secrets
from mcp_studio.config.importers import foreign_files, from_command, parse_paste, suggest_name
from mcp_studio.config.load import TrustStore, load, written
from mcp_studio.config.model import Config, ServerConfig, Untrusted
from mcp_studio.config.save import put_server, remove_server, set_value
from mcp_studio.config.secrets import Offer, offers, placed
from mcp_studio.config.servers import to_table
from mcp_studio.config.table import nearest
from mcp_studio.errors import InputNeeded, UsageError
from mcp_studio.jsontext import Json
from mcp_studio.limits import Limits
from mcp_studio.paths import Paths
from mcp_studio.present.definition import cautions
from mcp_studio.safetext import safe
from mcp_studio.vault import keyring


def without_secrets(servers: Sequence[ServerConfig], options: Options, out: Output) -> list[ServerConfig]:
    """The entries as they are to be written: references stand for what was kept.

    Raises:
        ConfigError: a secret could not be kept; nothing is to be written then.
    """
    files = [Path(name).expanduser() for name in options.values("--config")]
    keeping = written(Paths.default(), Path.cwd(), files=[file for file in files if file.exists()]).settings.secrets
    if keeping == "memory" and options.flag("--keyring"):
        hint = '[secrets] store = "keyring" or "file" in config.toml keeps them.'
        raise UsageError("Secrets are kept in memory only: they would be gone when this command ends.", hint=hint)
    taken = set(keyring.names())
    done: list[ServerConfig] = []
    for server in servers:
        found = offers(server, taken)
        for offer in found:
            out.redactor.learn(offer.value)
        chosen = [offer for offer in found if _wanted(offer, server, options, keeping != "memory")]
        kept = _kept(chosen, out)
        taken |= {offer.name for offer in kept}
        for offer in found:
            if offer not in chosen:
                out.warn(f"{_where(server, offer)} stands in the file in clear")
        done.append(placed(server, kept) if kept else server)
    return done


def _where(server: ServerConfig, offer: Offer) -> str:
    return f"servers.{server.name}.{offer.key}"


def _wanted(offer: Offer, server: ServerConfig, options: Options, keeps: bool) -> bool:
    if options.flag("--keyring"):
        return True
    if not keeps or options.flag("--yes") or not (can_ask() and sys.stdin.isatty()):
        return False
    prompt(
        f"{safe(_where(server, offer), 200)} looks like a secret. Keep it as {safe(offer.name, 80)}, and write "
        f"${{keyring:{safe(offer.name, 80)}}} into the file? [Y/n] "
    )
    line = sys.stdin.readline()
    return bool(line) and line.strip().lower() in ("", "y", "yes")


def _kept(chosen: Sequence[Offer], out: Output) -> list[Offer]:
    """The same, kept under names that nothing else has."""
    done: list[Offer] = []
    names: dict[str, str] = {}
    for offer in chosen:
        if offer.value not in names:
            names[offer.value] = name = keyring.unused(offer.name, offer.value)
            place = keyring.keep(name, offer.value)
            out.note(f"kept {name} in {place}")
        done.append(offer._replace(name=names[offer.value]))
    return done


Keys = Callable[[Mapping[str, str]], Sequence[tuple[str, str, str, str]]]
"""Gives the keys of the studio, with the person's own: id, keys, what they do, where."""


def run(options: Options, out: Output, keys: Keys) -> int:
    """Do what the word after `config` says; returns the exit code."""
    word = options.words[0] if options.words else "show"
    verbs: dict[str, Callable[[Options, Output], int]] = {
        "show": _show, "path": _path, "add": _add, "remove": _remove, "set": _set, "trust": _trust, "import": _import,
    }  # fmt: skip
    if word == "keys":
        return _keys(keys(_loaded(options, out).settings.keys), out)
    if word == "secrets":
        return secrets.run(options, out)
    if word not in verbs:
        raise UsageError(f"`config` knows no `{word}`.", hint=nearest(word, (*verbs, "keys", "secrets")))
    return verbs[word](options, out)


def _file(options: Options) -> Path:
    files = options.values("--config")
    if len(files) > 1:
        raise UsageError("Only one file can be written at a time.")
    return Path(files[0]).expanduser() if files else Paths.default().config_file


def _loaded(options: Options, out: Output) -> Config:
    files = [Path(name).expanduser() for name in options.values("--config")]
    config = load(Paths.default(), Path.cwd(), files=files)
    for server in config.servers.values():
        for secret in server.secrets:
            out.redactor.learn(secret)
    return config


def _words(options: Options, least: int, most: int, usage: str) -> list[str]:
    words = options.words[1:]
    if not least <= len(words) <= most:
        raise UsageError("Words are missing." if len(words) < least else "There are too many words.", hint=usage)
    return words


def _path(options: Options, out: Output) -> int:
    _words(options, 0, 0, "mcp-studio config path")
    out.data(str(_file(options)))
    return out.done(str(_file(options)))


def _keys(rows: Sequence[tuple[str, str, str, str]], out: Output) -> int:
    for line in table([(pressed.replace(",", ", "), title, scope, name) for name, pressed, title, scope in rows]):
        out.data(line)
    return out.done([{"id": row[0], "keys": row[1], "title": row[2], "scope": row[3]} for row in rows])


def _show(options: Options, out: Output) -> int:
    """What is in force; entries as they are written, so that no secret is in it."""
    _words(options, 0, 0, "mcp-studio config show")
    config = _loaded(options, out)
    settings, base = config.settings, Limits()
    limits = {item.name: value for item in fields(Limits) if (value := getattr(settings.limits, item.name)) is not None}
    changed = {name: value for name, value in limits.items() if value != getattr(base, name)}
    out.data(f"files    {', '.join(config.files) or 'none'}")
    out.data(f"theme    {settings.theme}")
    if settings.secrets != "keyring":
        out.data(f"secrets  {settings.secrets}")
    for name, value in changed.items():
        out.data(f"limit    {name} = {value:g}")
    for rule in settings.policy:
        out.data(f"policy   {rule.tools} -> {rule.verdict}")
    for name, pressed in settings.keys.items():
        out.data(f"key      {name} = {pressed}")
    for server in config.servers.values():
        out.data(f"server   {out.redactor.text(_line(server))}")
    for problem in config.problems:
        out.warn(problem)
    for question in config.untrusted:
        out.note(f"{question.file} is not in use: agree to it by `mcp-studio config trust`")
    out.result = {
        "files": list(config.files),
        "theme": settings.theme,
        "secrets": settings.secrets,
        "limits": limits,
        "servers": {name: _masked(to_table(server), out) for name, server in config.servers.items()},
        "problems": [str(problem) for problem in config.problems],
        "untrusted": [question.file for question in config.untrusted],
    }
    out.done()
    return 2 if config.problems else 0


def _masked(value: Json, out: Output) -> Json:
    """An entry without the secrets that somebody wrote into it."""
    if isinstance(value, dict):
        return {name: _masked(item, out) for name, item in value.items()}
    if isinstance(value, list):
        return [_masked(item, out) for item in value]
    return out.redactor.text(value) if isinstance(value, str) else value


def _line(server: ServerConfig) -> str:
    written = server.written or server
    target = written.url or " ".join((written.command, *written.args))
    state = "" if server.enabled else "  (disabled)"
    insecure = "  (INSECURE: any certificate is accepted)" if server.tls.insecure else ""
    return f"{server.name}  {target}{state}{insecure}"


def _add(options: Options, out: Output) -> int:
    usage = "mcp-studio config add [--name NAME] URL, or -- COMMAND ARGS…, or - for an mcp.json snippet"
    words = _words(options, 0, 1, usage)
    if options.command is not None:
        if words:
            raise UsageError(f"`{words[0]}` is neither an option nor part of the command.", hint=usage)
        server = from_command(options.command)
        servers = [replace(server, name=suggest_name(server), secrets=())]
    elif words:
        servers = parse_paste(sys.stdin.read() if words == ["-"] else words[0])
    else:
        raise UsageError("What is to be added?", hint=usage)
    if name := options.value("--name"):
        if len(servers) > 1:
            raise UsageError("--name names one server, but there are several.")
        servers = [replace(servers[0], name=name)]
    return _put(servers, options, out)


def _put(servers: Sequence[ServerConfig], options: Options, out: Output) -> int:
    file = _file(options)
    known = load(Paths.default(), Path.cwd(), files=[file]).servers if file.exists() else {}
    for server in servers:
        if server.name in known and not options.flag("--yes"):
            raise UsageError(
                f"There is a server `{server.name}` already.", hint="--name gives another, --yes replaces it."
            )
    for server in without_secrets(servers, options, out):
        put_server(file, server)
        out.note(f"added {_line(server)}")
    return out.done([server.name for server in servers])


def _remove(options: Options, out: Output) -> int:
    (name,) = _words(options, 1, 1, "mcp-studio config remove NAME")
    remove_server(_file(options), name)
    out.note(f"removed {name}")
    return out.done(name)


def _set(options: Options, out: Output) -> int:
    """Set one value, and take it back where it would not load."""
    key, text = _words(options, 2, 2, "mcp-studio config set KEY VALUE")
    file = _file(options)
    before = file.read_bytes() if file.exists() else b""
    problems = {str(problem) for problem in load(Paths.default(), Path.cwd(), files=[file]).problems}
    set_value(file, key.split("."), _toml(text))
    wrong = [one for one in load(Paths.default(), Path.cwd(), files=[file]).problems if str(one) not in problems]
    if wrong:
        if before:
            file.write_bytes(before)
        else:
            file.unlink()
        raise UsageError(f"{wrong[0].key or key} {wrong[0].message}", hint=wrong[0].hint)
    out.note(f"{key} = {text}")
    return out.done({key: _toml(text)})


def _toml(text: str) -> Json:
    """A TOML value where it is one, else the text itself."""
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return text


def _trust(options: Options, out: Output) -> int:
    _words(options, 0, 0, "mcp-studio config trust")
    config = _loaded(options, out)
    if not config.untrusted:
        out.note("There is nothing to agree to here.")
        return out.done([])
    store = TrustStore(Paths.default().trust_file)
    for question in config.untrusted:
        out.note(f"{question.file} would use:")
        for line in _starts(question):
            out.note(f"  {line}")
        if not options.flag("--yes") and not _agreed():
            raise InputNeeded("Nobody has agreed; nothing was changed.", hint="--yes agrees.")
        store.agree(question.digest, question.file)
        out.note("It is in use from now on, until it changes.")
    return out.done([question.file for question in config.untrusted])


def _starts(question: Untrusted) -> list[str]:
    rows = [f"{_line(server)}{_environment(server)}" for server in question.servers]
    return [safe(row) for row in rows] or ["settings only, no servers"]


def _environment(server: ServerConfig) -> str:
    names = (*server.env, *server.inherit_env)
    where = f"  (in {server.cwd})" if server.cwd else ""
    asks = "".join(f"  ({caution})" for caution in cautions(server))
    return where + (f"  (environment: {', '.join(names)})" if names else "") + asks


def _agreed() -> bool:
    if not can_ask():
        return False
    sys.stderr.write("Use it? [y/N] ")
    sys.stderr.flush()
    return sys.stdin.readline().strip().lower() in ("y", "yes")


def _import(options: Options, out: Output) -> int:
    words = _words(options, 0, 1, "mcp-studio config import [FILE]")
    if words:
        config = load(Paths.default(), Path.cwd(), files=[Path(words[0]).expanduser()])
        for problem in config.problems:
            out.warn(problem)
        return _put([server.written or server for server in config.servers.values()], options, out)
    found = foreign_files(Path.cwd())
    for line in table([(one.client, str(one.file)) for one in found]):
        out.data(line)
    if not found:
        out.note("There are no configuration files of other clients here.")
    return out.done([{"client": one.client, "file": str(one.file)} for one in found])
