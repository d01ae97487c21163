"""`config`: show and change the configuration, and the secrets that `${keyring:NAME}` stands for in it."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import fields, replace
from pathlib import Path

from mcp_studio.call.saved import folders
from mcp_studio.cli.grammar import VERBS
from mcp_studio.cli.options import Options
from mcp_studio.cli.output import Output
from mcp_studio.cli.targets import from_command, learn, target_text
from mcp_studio.cli.terminal import EndOfInput, can_ask, confirm, typed
from mcp_studio.config.expand import uses
from mcp_studio.config.importers import foreign_files, parse_paste, suggest_name
from mcp_studio.config.load import TrustStore, load, written
from mcp_studio.config.model import Config, Keeping, ServerConfig, Untrusted
from mcp_studio.config.save import put_server, remove_server, set_text
from mcp_studio.config.secrets import map_texts, offers, placed
from mcp_studio.config.servers import to_table
from mcp_studio.config.table import nearest
from mcp_studio.errors import ConfigError, InputNeeded, UsageError
from mcp_studio.jsontext import Json
from mcp_studio.limits import Limits
from mcp_studio.paths import Paths
from mcp_studio.present.definition import cautions
from mcp_studio.safetext import safe
from mcp_studio.vault import keyring
from mcp_studio.vault.base import VaultRefused

_COUNTS = {"add": (0, 1), "remove": (1, 1), "set": (2, 2), "import": (0, 1), "secrets": (0, 2)}
"""How many words an action takes, at least and at most; none where it is not named here."""
_HELP = "mcp-studio config --help"

Keys = Callable[[Mapping[str, str]], Sequence[tuple[str, str, str, str]]]
"""Gives the keys of the studio, with the person's own: id, keys, what they do, where."""


def run(options: Options, out: Output, keys: Keys) -> int:
    """Do what the word after `config` says; returns the exit code."""
    word, *words = options.words or ["show"]
    known = VERBS["config"].words
    if word not in known:
        raise UsageError(f"`config` knows no `{word}`.", hint=nearest(word, known))
    least, most = _COUNTS.get(word, (0, 0))
    if not least <= len(words) <= most:
        raise UsageError("Words are missing." if len(words) < least else "There are too many words.", hint=_HELP)
    if word == "keys":
        return _keys(keys(_loaded(options, out).settings.keys), out)
    verbs: dict[str, Callable[[list[str], Options, Output], int]] = {
        "show": _show, "path": _path, "add": _add, "remove": _remove, "set": _set, "trust": _trust, "import": _import,
        "secrets": _secrets,
    }  # fmt: skip
    return verbs[word](words, options, out)


def _file(options: Options) -> Path:
    files = _files(options)
    if len(files) > 1:
        raise UsageError("Only one file can be written at a time.")
    return files[0] if files else Paths.default().config_file


def _files(options: Options) -> list[Path]:
    return [Path(name).expanduser() for name in options.values("--config")]


def _load(files: list[Path]) -> Config:
    return load(Paths.default(), Path.cwd(), files=files)


def _loaded(options: Options, out: Output) -> Config:
    config = _load(_files(options))
    learn(config, out)
    return config


def _path(_: list[str], options: Options, out: Output) -> int:
    out.data(str(_file(options)))
    return out.done(str(_file(options)))


def _keys(rows: Sequence[tuple[str, str, str, str]], out: Output) -> int:
    out.table([(pressed.replace(",", ", "), title, scope, name) for name, pressed, title, scope in rows])
    return out.done([{"id": row[0], "keys": row[1], "title": row[2], "scope": row[3]} for row in rows])


def _show(_: list[str], options: Options, out: Output) -> int:
    """What is in force; entries as they are written, so that no secret is in it."""
    config = _loaded(options, out)
    settings, base = config.settings, Limits()
    limits = {item.name: value for item in fields(Limits) if (value := getattr(settings.limits, item.name)) is not None}
    changed = {name: value for name, value in limits.items() if value != getattr(base, name)}
    rows = [("files", ", ".join(config.files) or "none"), ("theme", settings.theme), ("secrets", settings.secrets)]
    rows += [("limit", f"{name} = {value:g}") for name, value in changed.items()]
    rows += [("policy", f"{rule.tools} -> {rule.verdict}") for rule in settings.policy]
    rows += [("key", f"{name} = {pressed}") for name, pressed in settings.keys.items()]
    out.table(rows + [("server", out.redactor.text(_line(server))) for server in config.servers.values()])
    for problem in config.problems:
        out.warn(problem)
    for question in config.untrusted:
        out.note(f"{question.file} is not in use: agree to it by `mcp-studio config trust`")
    out.result = {
        "files": list(config.files), "theme": settings.theme, "secrets": settings.secrets, "limits": limits,
        "servers": {name: _masked(server, out) for name, server in config.servers.items()},
        "problems": [str(problem) for problem in config.problems],
        "untrusted": [question.file for question in config.untrusted],
    }  # fmt: skip
    out.done()
    return 2 if config.problems else 0


def _masked(server: ServerConfig, out: Output) -> Json:
    """An entry as it is written, without the secrets that somebody wrote into it."""
    return to_table(map_texts(server.written or server, lambda _, text: out.redactor.text(text)))


def _line(server: ServerConfig) -> str:
    state = "" if server.enabled else "  (disabled)"
    insecure = "  (INSECURE: any certificate is accepted)" if server.tls.insecure else ""
    return f"{server.name}  {target_text(server)}{state}{insecure}"


def _add(words: list[str], options: Options, out: Output) -> int:
    if options.command is not None:
        if words:
            raise UsageError(f"`{words[0]}` is neither an option nor part of the command.", hint=_HELP)
        server = from_command(options.command)
        servers = [replace(server, name=suggest_name(server), secrets=())]
    elif words:
        servers = parse_paste(sys.stdin.read() if words == ["-"] else words[0])
    else:
        raise UsageError("What is to be added?", hint=_HELP)
    if name := options.value("--name"):
        if len(servers) > 1:
            raise UsageError("--name names one server, but there are several.")
        servers = [replace(servers[0], name=name)]
    return _put(servers, options, out)


def _put(servers: Sequence[ServerConfig], options: Options, out: Output) -> int:
    file = _file(options)
    known = _load([file]).servers if file.exists() else {}
    for server in servers:
        if server.name in known and not options.flag("--yes"):
            raise UsageError(
                f"There is a server `{server.name}` already.", hint="--name gives another, --yes replaces it."
            )
    for server in _without_secrets(servers, options, out):
        put_server(file, server)
        out.note(f"added {_line(server)}")
    return out.done([server.name for server in servers])


def _remove(words: list[str], options: Options, out: Output) -> int:
    remove_server(_file(options), words[0])
    out.note(f"removed {words[0]}")
    return out.done(words[0])


def _set(words: list[str], options: Options, out: Output) -> int:
    key, text = words
    value = set_text(_file(options), key, text, _load)
    out.note(f"{key} = {text}")
    return out.done({key: value})


def _trust(_: list[str], options: Options, out: Output) -> int:
    config = _loaded(options, out)
    if not config.untrusted:
        out.note("There is nothing to agree to here.")
        return out.done([])
    store = TrustStore(Paths.default().trust_file)
    for question in config.untrusted:
        out.note(f"{question.file} would use:")
        for line in _starts(question):
            out.note(f"  {line}")
        if not options.flag("--yes") and not (can_ask() and confirm("Use it?")):
            raise InputNeeded("Nobody has agreed; nothing was changed.", hint="--yes agrees.")
        store.agree(question.digest, question.file)
        out.note("It is in use from now on, until it changes.")
    return out.done([question.file for question in config.untrusted])


def _starts(question: Untrusted) -> list[str]:
    rows: list[str] = []
    for server in question.servers:
        names = (*server.env, *server.inherit_env)
        parts = [f"in {server.cwd}"] if server.cwd else []
        parts += [f"environment: {', '.join(names)}"] if names else []
        rows.append(safe("".join((_line(server), *(f"  ({part})" for part in (*parts, *cautions(server)))))))
    return rows or ["settings only, no servers"]


def _import(words: list[str], options: Options, out: Output) -> int:
    if words:
        config = written(Paths.default(), Path.cwd(), files=[Path(words[0]).expanduser()])
        for problem in config.problems:
            out.warn(problem)
        return _put(list(config.servers.values()), options, out)
    found = foreign_files(Path.cwd())
    rows = [(one.client, str(one.file)) for one in found]
    facts: list[Json] = [{"client": client, "file": file} for client, file in rows]
    return out.listing(rows, facts, empty="There are no configuration files of other clients here.")


# Secrets


def _without_secrets(servers: Sequence[ServerConfig], options: Options, out: Output) -> list[ServerConfig]:
    """The entries as they are to be written: with `--keyring` references stand for what was kept.

    Raises:
        ConfigError: a secret could not be stored; nothing is to be written then.
    """
    existing = [file for file in _files(options) if file.exists()]
    keeps = options.flag("--keyring")
    if keeps:
        _refuse_memory(written(Paths.default(), Path.cwd(), files=existing).settings.secrets)
    taken = set(keyring.names())
    done: list[ServerConfig] = []
    for server in servers:
        found = list(offers(server, taken))
        for offer in found:
            out.redactor.learn(offer.value)
            if not keeps:
                out.warn(f"servers.{server.name}.{offer.key} stands in the file in clear; --keyring keeps it")
        if keeps and found:
            names = {name: _keep(name, value, out) for name, value in {one.name: one.value for one in found}.items()}
            taken |= set(names.values())
            server = placed(server, [offer._replace(name=names[offer.name]) for offer in found])
        done.append(server)
    return done


def _keep(name: str, value: str, out: Output) -> str:
    """Keep a secret under a name that nothing else has."""
    free = keyring.unused(name, value)
    out.note(f"kept {free} in {keyring.keep(free, value)}")
    return free


def _refuse_memory(keeping: Keeping) -> None:
    if keeping == "memory":
        hint = '[secrets] store = "keyring" or "file" in config.toml keeps them.'
        raise UsageError("Secrets are stored in memory only: they would be gone when this command ends.", hint=hint)


def _secrets(words: list[str], options: Options, out: Output) -> int:
    """Do what the word after `config secrets` says; returns the exit code. Values are taken, and never shown."""
    word, *names = words or ["list"]
    if word not in (known := ("list", "set", "remove")):
        raise UsageError(f"`config secrets` knows no `{word}`.", hint=nearest(word, known))
    if len(names) != (0 if word == "list" else 1):
        raise UsageError("It is one name, and no value." if names else "Which name?", hint=_HELP)
    config = written(Paths.default(), Path.cwd(), files=_files(options))
    if word == "list":
        return _list_secrets(config, out)
    return _set_secret(names[0], config, out) if word == "set" else _remove_secret(names[0], config, out)


def _uses(config: Config) -> dict[str, list[Json]]:
    """The names of secrets, and which keys of the configuration and saved calls use them."""
    found: dict[str, list[Json]] = {}
    for server in config.servers.values():
        for name, key in uses(server):
            found.setdefault(name, []).append({"where": f"servers.{server.name}.{key}", "file": server.source.file})
    for saved in folders(Paths.default(), Path.cwd(), config.settings.calls).load().calls:
        for reference in saved.references:
            if reference.startswith("${keyring:"):
                use: Json = {"where": f"saved call {saved.name}", "file": str(saved.file)}
                found.setdefault(reference.removeprefix("${keyring:").removesuffix("}"), []).append(use)
    return found


def _list_secrets(config: Config, out: Output) -> int:
    """Names that were kept, and names that are used."""
    for problem in config.problems:
        out.warn(problem)
    known, used = keyring.names(), _uses(config)
    names = sorted({*known, *used})
    present: dict[str, bool] = {}
    place = ""
    try:
        if names:
            vault = keyring.named()
            place = vault.place
            present = {name: vault.get(name) is not None for name in names}
    except VaultRefused as problem:
        out.warn(f"{problem.message} {problem.hint}".strip())
    rows: list[tuple[str, ...]] = []
    result: list[Json] = []
    for name in names:
        there, before, users = present.get(name), known.get(name), used.get(name, [])
        where = place if there else "not known" if there is None else "MISSING"
        rows.append((name, where, ", ".join(use["where"] for use in users) or "not used"))
        at = place if there else None
        result.append({"name": name, "present": there, "place": at, "kept": before, "used": users})
    empty = "No secrets have been given names. `mcp-studio config secrets set NAME` keeps one."
    return out.listing(rows, result, empty=empty)


def _set_secret(name: str, config: Config, out: Output) -> int:
    keyring.check_name(name)
    _refuse_memory(config.settings.secrets)
    there = keyring.named().get(name) is not None
    if there and not out.options.flag("--yes"):
        raise UsageError(f"There is a secret `{name}` already.", hint="--yes replaces it.")
    value = _value(name)
    if not value.strip():
        raise UsageError("The value is empty: nothing is stored.")
    out.redactor.learn(value)
    place = keyring.keep(name, value)
    out.note(f"{'replaced' if there else 'kept'} {name} in {place}; ${{keyring:{name}}} stands for it")
    return out.done({"name": name, "place": place, "replaced": there})


def _value(name: str) -> str:
    """What is to be kept: typed without being shown, or all of standard input."""
    if can_ask():
        with suppress(EndOfInput):
            return typed(f"Value of {name} (not shown): ")
        return ""
    try:
        text = sys.stdin.buffer.read().decode()
    except UnicodeDecodeError:
        raise UsageError("Standard input is not UTF-8 text.") from None
    return text.removesuffix("\n").removesuffix("\r")


def _remove_secret(name: str, config: Config, out: Output) -> int:
    known = list(keyring.names())
    if not keyring.remove(name) and name not in known:
        raise ConfigError(f"There is no secret `{name}`.", hint=nearest(name, known))
    out.note(f"removed {name}")
    users = _uses(config).get(name, [])
    for use in users:
        out.warn(f"{use['where']} uses it still ({use['file']})")
    return out.done({"name": name, "used": users})
