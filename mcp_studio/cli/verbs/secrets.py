"""`config secrets`: the names that `${keyring:NAME}` can stand for. Values are taken, and never shown."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from mcp_studio.cli.call_arguments import saved_folders
from mcp_studio.cli.options import Options
from mcp_studio.cli.output import Output, table
from mcp_studio.cli.terminal import can_ask, prompt, typed
from mcp_studio.config.expand import uses
from mcp_studio.config.load import written
from mcp_studio.config.model import Config, Keeping
from mcp_studio.config.table import nearest
from mcp_studio.errors import ConfigError, InputNeeded, UsageError
from mcp_studio.jsontext import Json
from mcp_studio.paths import Paths
from mcp_studio.vault import keyring
from mcp_studio.vault.base import Vault, VaultRefused

USAGE = "mcp-studio config secrets [list], set NAME [--from-env VARIABLE], or remove NAME"
_LARGEST = 1 << 20
_KEPT: dict[Keeping, str] = {
    "keyring": "the keyring",
    "file": "the encrypted file",
    "memory": "memory",
}


class _Use(NamedTuple):
    """Where a name is used: a key of the configuration, or a saved call."""

    where: str
    file: str


def run(options: Options, out: Output) -> int:
    """Do what the word after `config secrets` says; returns the exit code."""
    word, *rest = options.words[1:] or ["list"]
    if word not in ("list", "set", "remove"):
        raise UsageError(f"`config secrets` knows no `{word}`.", hint=nearest(word, ("list", "set", "remove")) or USAGE)
    if options.value("--from-env") and word != "set":
        raise UsageError("--from-env is for `config secrets set`.")
    if word == "list":
        if rest:
            raise UsageError("There are too many words.", hint=USAGE)
        return _list(_configuration(options), out)
    if len(rest) != 1:
        hint = "The value is typed, or comes from standard input or --from-env." if word == "set" and rest else USAGE
        raise UsageError("There are too many words." if rest else "Which name?", hint=hint)
    return (_set if word == "set" else _remove)(rest[0], _configuration(options), options, out)


def _configuration(options: Options) -> Config:
    """As it is written: it says where secrets are kept, and which are used where."""
    return written(Paths.default(), Path.cwd(), files=[Path(name).expanduser() for name in options.values("--config")])


def _uses(config: Config) -> dict[str, list[_Use]]:
    found: dict[str, list[_Use]] = {}
    for name, use in _all_uses(config):
        if use not in found.setdefault(name, []):
            found[name].append(use)
    return found


def _all_uses(config: Config) -> Iterator[tuple[str, _Use]]:
    for server in config.servers.values():
        for name, key in uses(server):
            yield name, _Use(f"servers.{server.name}.{key}", server.source.file)
    for saved in saved_folders(config).load().calls:
        for reference in saved.references:
            if reference.startswith("${keyring:"):
                yield reference[len("${keyring:") : -1], _Use(f"saved call {saved.name}", str(saved.file))


def _list(config: Config, out: Output) -> int:
    """Names that were kept, and names that are used."""
    for problem in config.problems:
        out.warn(problem)
    kept = keyring.names()
    used = _uses(config)
    vault: Vault | None = None
    present: dict[str, bool] = {}
    try:
        vault = keyring.named() if kept or used else None
        present = {name: vault.get(name) is not None for name in sorted({*kept, *used})} if vault else {}
    except VaultRefused as problem:
        out.warn(f"{problem.message} {problem.hint}".strip())
    rows: list[tuple[str, ...]] = []
    result: list[Json] = []
    for name in sorted({*kept, *used}):
        there, before = present.get(name), kept.get(name)
        place = vault.place if vault and there else ""
        said = place or ("MISSING" if there is False else f"maybe in {_KEPT[before]}" if before else "not known")
        if there is False and before and vault and before != vault.kind:
            said = f"MISSING: it was kept in {_KEPT[before]}"
        rows.append((name, said, ", ".join(use.where for use in used.get(name, ())) or "not used"))
        users: list[Json] = [use._asdict() for use in used.get(name, ())]
        result.append({"name": name, "present": there, "place": place or None, "kept": before, "used": users})
    for line in table(rows):
        out.data(line)
    if not rows:
        out.note("No secrets have been given names. `mcp-studio config secrets set NAME` keeps one.")
    return out.done(result)


def _set(name: str, config: Config, options: Options, out: Output) -> int:
    """Keep a secret under a name."""
    keyring.check_name(name)
    if config.settings.secrets == "memory":
        hint = (
            '[secrets] store = "keyring" or "file" in config.toml keeps it. For one run, use an environment variable.'
        )
        raise UsageError("Secrets are kept in memory only: it would be gone when this command ends.", hint=hint)
    there = keyring.named().get(name) is not None
    if there and not options.flag("--yes"):
        _replaces(name)
    value = _value(name, options)
    out.redactor.learn(value)
    place = keyring.keep(name, value)
    out.note(f"{'replaced' if there else 'kept'} {name} in {place}; ${{keyring:{name}}} stands for it")
    return out.done({"name": name, "place": place, "replaced": there})


def _replaces(name: str) -> None:
    """A person agrees to losing what has the name."""
    taken = f"There is a secret `{name}` already."
    if not (can_ask() and sys.stdin.isatty()):
        raise UsageError(taken, hint="--yes replaces it.")
    prompt(f"{taken} Replace it? [y/N] ")
    if sys.stdin.readline().strip().lower() not in ("y", "yes"):
        raise InputNeeded("It was not replaced.", hint="--yes replaces it without asking.")


def _value(name: str, options: Options) -> str:
    """What is to be kept: from the environment, typed without being shown, or all of standard input."""
    if "--from-env" in options.given:
        variable = options.value("--from-env")
        value = os.environ.get(variable)
        if value is None:
            hint = nearest(variable, (other for other in os.environ if len(other) > 3))
            raise UsageError(f"The environment variable {variable} is not set.", hint=hint)
        return _filled(value, f"The environment variable {variable} is empty: nothing is kept.")
    if can_ask():
        try:
            return _filled(typed(f"Value of {name} (not shown): "), "Nothing was typed: nothing is kept.")
        except EOFError:
            raise UsageError("Nothing was typed: nothing is kept.") from None
    data = sys.stdin.buffer.read(_LARGEST + 1)
    if len(data) > _LARGEST:
        raise UsageError("Standard input is larger than 1 MB: that is no secret.")
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        raise UsageError("Standard input is not UTF-8 text.") from None
    text = text.removesuffix("\n").removesuffix("\r")
    return _filled(text, "Standard input is empty: nothing is kept.")


def _filled(value: str, otherwise: str) -> str:
    if not value.strip():
        raise UsageError(otherwise)
    return value


def _remove(name: str, config: Config, options: Options, out: Output) -> int:
    """Forget a secret and its name."""
    known = list(keyring.names())
    if not keyring.remove(name) and name not in known:
        raise ConfigError(f"There is no secret `{name}`.", hint=nearest(name, known))
    out.note(f"removed {name}")
    users = _uses(config).get(name, [])
    for use in users:
        out.warn(f"{use.where} uses it still ({use.file})")
    return out.done({"name": name, "used": [use._asdict() for use in users]})
