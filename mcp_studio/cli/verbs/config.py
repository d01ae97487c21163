"""`config`: show and change the configuration, and the secrets that `${keyring:NAME}` refers to."""

from __future__ import annotations

import os
import sys
import tomllib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import fields, replace
from functools import partial
from pathlib import Path

from mcp_studio.call.saved import folders
from mcp_studio.cli.targets import from_command, learn, select, state_text, tell_problems
from mcp_studio.cli.terminal import Output, can_ask, confirm, private
from mcp_studio.config import clients, importers, save
from mcp_studio.config.expand import effective, uses
from mcp_studio.config.exporters import export
from mcp_studio.config.load import TrustStore, load, read_text, written
from mcp_studio.config.model import Config, Problem, ServerConfig, Settings, Source, Untrusted, VaultKind
from mcp_studio.config.secrets import map_texts, offers
from mcp_studio.config.servers import changed, to_table, wrong_address
from mcp_studio.errors import ConfigError, InputNeeded, UsageError, VaultRefused, nearest
from mcp_studio.jsontext import Json
from mcp_studio.limits import Limits
from mcp_studio.paths import Paths
from mcp_studio.present import definition, units
from mcp_studio.safetext import safe
from mcp_studio.vault import keyring
from mcp_studio.vault.base import change_file

_HELP = "mcp-studio config --help"

Keys = Callable[[Settings], tuple[Sequence[tuple[str, str, str, str]], Sequence[str]]]
"""Returns the studio's keys, including the person's changes: id, keys, what they do, where.

The second list has a sentence for each setting of keys or theme that the studio does not know.
"""


def run(out: Output, keys: Keys) -> int:
    """Run the action named after `config`. Returns the exit code."""
    word, *words = out.options.words or ["show"]
    # Each action with the least and the most words it takes.
    actions: dict[str, tuple[Callable[[list[str], Output], int], int, int]] = {
        "show": (partial(_show, keys), 0, 0), "path": (_path, 0, 0), "keys": (partial(_keys, keys), 0, 0),
        "add": (_add, 0, 1), "remove": (_remove, 1, 1), "set": (partial(_set, keys), 2, 2), "trust": (_trust, 0, 0),
        "import": (_import, 0, 1), "export": (_export, 1, 99), "secrets": (_secrets, 0, 2),
    }  # fmt: skip
    action, least, most = actions[word]
    if not least <= len(words) <= most:
        raise UsageError("Words are missing." if len(words) < least else "There are too many words.", hint=_HELP)
    return action(words, out)


def _file(out: Output) -> Path:
    files = _files(out)
    if len(files) > 1:
        raise UsageError("Only one file can be written at a time.")
    return files[0] if files else Paths.default().config_file


def _files(out: Output) -> list[Path]:
    return [Path(name).expanduser() for name in out.options.values("--config")]


def _load(files: list[Path]) -> Config:
    return load(Paths.default(), Path.cwd(), files=files)


def _written(files: list[Path], out: Output) -> Config:
    """Load the entries as they are written in the files, and print what is wrong with them."""
    config = written(Paths.default(), Path.cwd(), files=files)
    out.warn(*config.problems)
    return config


def _loaded(out: Output) -> Config:
    return learn(_load(_files(out)), out)


def _path(_: list[str], out: Output) -> int:
    out.data(str(_file(out)))
    return out.done(str(_file(out)))


def _keys(keys: Keys, _: list[str], out: Output) -> int:
    rows, problems = keys(_loaded(out).settings)
    out.warn(*problems)
    out.table([(pressed.replace(",", ", "), title, scope, name) for name, pressed, title, scope in rows])
    return out.done([{"id": row[0], "keys": row[1], "title": row[2], "scope": row[3]} for row in rows])


def _show(keys: Keys, _: list[str], out: Output) -> int:
    """Show the configuration in force. Entries appear as written, so they contain no secrets."""
    config = _checked(_loaded(out), keys)
    settings, names = config.settings, [item.name for item in fields(Limits)]
    limits = {name: value for name in names if (value := getattr(settings.limits, name)) is not None}
    rows = [("files", ", ".join(config.files) or "none"), ("theme", settings.theme), ("secrets", settings.secrets)]
    rows += [("limit", f"{name} = {value:g}") for name, value in changed(settings.limits, Limits(), names).items()]
    rows += [("policy", f"{rule.tools} -> {rule.verdict}") for rule in settings.policy]
    rows += [("key", f"{name} = {pressed}") for name, pressed in settings.keys.items()]
    out.table(rows + [("server", out.redactor.text(_line(server))) for server in config.servers.values()])
    tell_problems(config, out)

    facts: Json = {
        "files": list(config.files), "theme": settings.theme, "secrets": settings.secrets, "limits": limits,
        "servers": {
            name: to_table(map_texts(one.written or one, lambda _, text: out.redactor.text(text)))
            for name, one in config.servers.items()
        },
        "problems": [str(problem) for problem in config.problems],
        "untrusted": [question.file for question in config.untrusted],
    }  # fmt: skip
    out.done(facts)
    return 2 if config.problems else 0


def _line(server: ServerConfig) -> str:
    state = state_text(server)
    return f"{server.name}  {definition.target_of(server)}{f'  ({state})' if state else ''}"


def _add(words: list[str], out: Output) -> int:
    if out.options.command is not None:
        if words:
            raise UsageError(f"`{words[0]}` is neither an option nor part of the command.", hint=_HELP)
        server = from_command(out.options.command)
        servers = [replace(server, name=importers.suggest_name(server), secrets=())]
    elif words == ["-"]:
        text, problems = sys.stdin.read(), list[Problem]()
        found = read_text(text, problems)
        if problems and problems[0].message == importers.NO_SERVERS:  # people often leave out what surrounds an entry
            problems.clear()
            found = read_text(f'{{"mcpServers": {text}\n}}', problems)
        servers = list(found.values())
        out.warn(*problems)
    elif words:
        if wrong := wrong_address(words[0]):
            raise UsageError(f"`{words[0]}` {wrong}.", hint="A command stands behind --.")
        server = ServerConfig("", url=words[0])
        servers = [replace(server, name=importers.suggest_name(server))]
    else:
        raise UsageError("What is to be added?", hint=_HELP)
    if name := out.options.value("--name"):
        if len(servers) > 1:
            raise UsageError("--name names one server, but there are several.")
        servers = [replace(server, name=name) for server in servers]
    return _put(servers, out)


def _put(servers: Sequence[ServerConfig], out: Output) -> int:
    file = _file(out)
    known = written(Paths.default(), Path.cwd(), files=[file]).servers if file.exists() else {}
    taken = [server.name for server in servers if server.name in known and not out.options.flag("--yes")]
    for name in taken:
        out.warn(f"{name} is left out: there is one already. --yes replaces it; `add --name` gives another name")
    new = _without_secrets([server for server in servers if server.name not in taken], out)
    for server in new:
        save.put_server(file, server)
        out.note(f"{'replaced' if server.name in known else 'added'} {_line(server)}")
        try:
            effective(replace(server, source=Source("user", str(file))), keyring=str)
        except ConfigError as problem:
            out.warn(f"{server.name} cannot start yet: {problem.key}: {problem.message} {problem.hint}")
    if not new:
        raise ConfigError("No server was added.")
    return out.done([server.name for server in new])


def _remove(words: list[str], out: Output) -> int:
    save.remove_server(_file(out), words[0])
    out.note(f"removed {words[0]}")
    return out.done(words[0])


def _checked(config: Config, keys: Keys) -> Config:
    """Add the problems that only the studio's screens know."""
    found = (Problem("", "", sentence) for sentence in keys(config.settings)[1])
    return replace(config, problems=(*config.problems, *found))


def _set(keys: Keys, words: list[str], out: Output) -> int:
    """Set a key to a TOML value, or to the text itself if it is not TOML. Undo it if the file no longer loads."""
    file, (key, text) = _file(out), words
    try:
        value = tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        value = text
    before = file.read_bytes() if file.is_file() else b""
    known = {str(problem) for problem in _checked(_load([file]), keys).problems}
    save.set_value(file, key.split("."), value)
    after = file.read_bytes()
    if wrong := next((one for one in _checked(_load([file]), keys).problems if str(one) not in known), None):
        change_file(file, lambda now: before if now == after else now)
        raise UsageError(f"{wrong.key or key} {wrong.message}", hint=wrong.hint)
    out.note(f"{key} = {text}")
    return out.done({key: value})


def _trust(_: list[str], out: Output) -> int:
    config = _loaded(out)
    if not config.untrusted:
        out.note("There is nothing to agree to here.")
        return out.done([])
    store = TrustStore(Paths.default().trust_file)
    for question in config.untrusted:
        out.note(f"{question.file} would use:", *_starts(question))
        _agree("Use it?", out)
        store.agree(question.digest, question.file)
        out.note("It is in use from now on, until it changes.")
    return out.done([question.file for question in config.untrusted])


def _agree(question: str, out: Output) -> None:
    if not out.options.flag("--yes") and not (can_ask() and confirm(question)):
        raise InputNeeded("Nobody has agreed; nothing was changed.", hint="--yes agrees.")


def _starts(question: Untrusted) -> list[str]:
    rows: list[str] = []
    for server in question.servers:
        names = ", ".join((*server.env, *server.inherit_env))
        parts = (server.cwd and f"in {server.cwd}", names and f"environment: {names}", *definition.cautions(server))
        rows.append("  " + safe(_line(server) + "".join(f"  ({part})" for part in parts if part)))
    return rows or ["  settings only, no servers"]


def _import(words: list[str], out: Output) -> int:
    if words:
        return _put(list(_written([Path(words[0]).expanduser()], out).servers.values()), out)
    rows, facts = list[tuple[str, ...]](), list[Json]()
    for client, file, _ in clients.foreign_files(Path.cwd()):
        config = written(Paths.default(), Path.cwd(), files=[file])
        problems = [str(problem) for problem in config.problems if problem.message != importers.NO_SERVERS]
        trouble = f", {units.plural(len(problems), 'problem')}" if problems else ""
        rows.append((client, str(file), units.plural(len(config.servers), "server") + trouble))
        facts.append({"client": client, "file": str(file), "servers": [*config.servers], "problems": [*problems]})
        out.warn(*problems)
    return out.listing(rows, facts, empty="There are no configuration files of other clients here.")


# Export


def _export(words: list[str], out: Output) -> int:
    """Write servers into the file of another client."""
    clients.client_named(words[0])  # report an unknown client before any problems of servers
    return put(words[0], select(_written(_files(out), out), words[1:]).servers.values(), out)


def client_file(client: clients.ForeignClient, out: Output) -> Path:
    """Return a client's configuration file: the person's, or with `--project` that of the current folder.

    Raises:
        UsageError: the client has no such file.
    """
    project = out.options.flag("--project")
    file = clients.targets(Path.cwd()).get((client.name, project))
    if file is None:
        whose, hint = ("a project", "") if project else ("a person", "--project writes the one of this folder.")
        raise UsageError(f"{client.name} has no file for {whose}.", hint=hint)
    return file


def put(name: str, chosen: Iterable[ServerConfig], out: Output) -> int:
    """Write servers into a client's file, after showing the changes and asking. Returns the exit code.

    Raises:
        UsageError: there is no such client.
        InputNeeded: nobody can be asked to agree.
        ConfigError: the file cannot be written.
    """
    client = clients.client_named(name)
    file = client_file(client, out)
    wanted = export(client, file, chosen, out.redactor)
    out.warn(*wanted.remarks)
    if not wanted.entries:
        raise ConfigError("No server was written.")
    if changes := wanted.changes():
        out.note(*changes)
        _agree(f"Write {file}?", out)
        out.note(wanted.write())
    else:
        out.note(f"{file} says so already")
    return out.done({"client": client.name, "file": str(file), "servers": [*wanted.entries]})


# Secrets


def _without_secrets(servers: Sequence[ServerConfig], out: Output) -> Sequence[ServerConfig]:
    """Return the entries to write. With `--keyring`, secrets are stored first and replaced by references.

    Raises:
        ConfigError: a secret could not be stored. Nothing should be written then.
    """
    found = [(server, offer) for server in servers for offer in offers(server)]
    for server, offer in found:
        out.redactor.learn(offer.value)
        if not out.options.flag("--keyring"):
            out.warn(f"servers.{server.name}.{offer.key} stands in the file in clear; --keyring keeps it")
    if not found or not out.options.flag("--keyring"):
        return servers
    existing = [file for file in _files(out) if file.exists()]
    _refuse_memory(written(Paths.default(), Path.cwd(), files=existing).settings.secrets)
    moved = keyring.move(servers, out.redactor)
    for name in dict.fromkeys(name for server in moved for name, _ in uses(server)):
        out.note(f"kept {name} in {keyring.named().place}")
    return moved


def _refuse_memory(keeping: VaultKind) -> None:
    if keeping == "memory":
        hint = '[secrets] store = "keyring" or "file" in config.toml keeps them.'
        raise UsageError("Secrets are stored in memory only: they would be gone when this command ends.", hint=hint)


def _secrets(words: list[str], out: Output) -> int:
    """Run the action named after `config secrets`. Returns the exit code. Values are read but never shown."""
    word, *names = words or ["list"]
    verbs: dict[str, Callable[..., int]] = {"list": _list_secrets, "set": _set_secret, "remove": _remove_secret}
    if word not in verbs:
        raise UsageError(f"`config secrets` knows no `{word}`.", hint=nearest(word, verbs))
    if out.options.flag("--from-env") and word != "set":
        raise UsageError("--from-env is for `config secrets set`.")
    if len(names) != (word != "list"):
        raise UsageError("It is one name, and no value." if names else "Which name?", hint=_HELP)
    return verbs[word](_written(_files(out), out), out, *names)


def _uses(config: Config) -> dict[str, list[Json]]:
    """Map each secret's name to the configuration keys and saved calls that use it."""
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
    """List the secrets that are stored, and those that are used."""
    known, used, refused = keyring.names(), _uses(config), False
    rows, result = list[tuple[str, ...]](), list[Json]()
    for name in sorted({*known, *used}):
        there, users = None, used.get(name, [])
        try:
            there = None if refused else keyring.named().get(name) is not None
        except VaultRefused as problem:
            refused = True
            out.warn(f"{problem.message} {problem.hint}".strip())
        at = keyring.named().place if there else None
        where = at or ("not known" if there is None else "MISSING")
        rows.append((name, where, ", ".join(use["where"] for use in users) or "not used"))
        result.append({"name": name, "present": there, "place": at, "kept": known.get(name), "used": users})
    empty = "No secrets have been given names. `mcp-studio config secrets set NAME` keeps one."
    return out.listing(rows, result, empty=empty)


def _set_secret(config: Config, out: Output, name: str) -> int:
    keyring.check_name(name)
    _refuse_memory(config.settings.secrets)
    there = keyring.named().get(name) is not None
    if there and not out.options.flag("--yes"):
        raise UsageError(f"There is a secret `{name}` already.", hint="--yes replaces it.")
    variable = out.options.value("--from-env")
    if variable and variable not in os.environ:
        raise UsageError(f"The environment variable {variable} is not set.", hint=nearest(variable, os.environ))
    value = os.environ[variable] if variable else private(f"Value of {name} (not shown): ")
    value = value.removesuffix("\n").removesuffix("\r")
    if not value.strip():
        raise UsageError("The value is empty: nothing is stored.")
    out.redactor.learn(value)
    place = keyring.keep(name, value)
    out.note(f"{'replaced' if there else 'kept'} {name} in {place}; ${{keyring:{name}}} stands for it")
    return out.done({"name": name, "place": place, "replaced": there})


def _remove_secret(config: Config, out: Output, name: str) -> int:
    known = list(keyring.names())
    if not keyring.remove(name) and name not in known:
        raise ConfigError(f"There is no secret `{name}`.", hint=nearest(name, known))
    out.note(f"removed {name}")
    users = _uses(config).get(name, [])
    out.warn(*(f"{use['where']} uses it still ({use['file']})" for use in users))
    return out.done({"name": name, "used": users})
