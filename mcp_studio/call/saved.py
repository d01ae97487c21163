"""Saved calls: what is called, and with which arguments. One TOML file for each, and no secret in any of them.

`tomllib` reads them, with numbers as they were typed.
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterable, Mapping
from contextlib import suppress
from dataclasses import replace as replace_fields
from pathlib import Path as FilePath
from typing import Literal, NamedTuple

from mcp_studio.call.secrets import GONE, SecretFilter, changed, walk
from mcp_studio.call.store import read_end
from mcp_studio.catalog.listing import KINDS, EntryKind, Ref
from mcp_studio.config import table
from mcp_studio.config.expand import Expander, Lookup
from mcp_studio.config.load import TrustStore, digest
from mcp_studio.config.model import Problem
from mcp_studio.config.table import Table, kind_of, nearest
from mcp_studio.errors import ConfigError, StudioError, UsageError
from mcp_studio.jsontext import ExactFloat, Json, JsonProblem, loads, mapping, printable
from mcp_studio.paths import Paths, portable, write_atomically
from mcp_studio.record import record
from mcp_studio.safetext import hidden_in
from mcp_studio.schema.place import NoPlace, Path, get_or_none, has, path_of, pointer, put, remove
from mcp_studio.vault.keyring import lookup

Where = Literal["project", "personal"]
"""Whose folder a saved call is in."""
REFERENCE = re.compile(r"\$(\$\{)|\$\{(?:(env|keyring):)?([^{}]*)\}")
"""`$${` (group 1), `${env:NAME}`, `${keyring:NAME}` (groups 2 and 3) and `${NAME}` (group 3)."""
VERSION = 1
PROJECT_FILE = ".mcp-studio.toml"
PROJECT_FOLDER = ".mcp-studio"
CALLS = "calls"
_NAME = re.compile(r"[\w][\w .+@-]{0,79}\Z")
_LONGEST = 200
_LARGEST = 1024 * 1024
_MOST = 5_000
_FLOAT = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?\Z")


@record(frozen=True)
class SavedCall:
    """One file of a folder of saved calls."""

    name: str
    ref: Ref
    arguments: Json = None
    """As they are written: `${…}` not replaced."""
    description: str = ""
    where: Where = "personal"
    file: FilePath = FilePath()
    seen: str = ""
    """What agreeing to its file is remembered under, as the file was when it was read."""
    pinned: bool = False
    """Watch mode makes it again after every change of its server."""

    @property
    def verb(self) -> str:
        """What running it means: `call`, `get` or `read`."""
        return {"tool": "call", "prompt": "get"}.get(self.ref.kind, "read")

    @property
    def references(self) -> tuple[str, ...]:
        """The secrets of this computer that it uses, such as `${keyring:github}`, each once."""
        texts = (text for _, text in walk(self.arguments) if isinstance(text, str))
        found = (match for text in texts for match in REFERENCE.finditer(text) if match[2])
        return tuple(dict.fromkeys(match[0] for match in found))


def usable(name: str) -> bool:
    """Whether a name can be that of a file on every system, in its folder."""
    return bool(_NAME.match(name)) and portable(name) and portable(f"{name}.toml")


def check_name(name: str) -> str:
    """The name, where it can be that of a file on every system.

    Raises:
        UsageError: it cannot.
    """
    if not usable(name):
        raise UsageError(
            f"`{name[:80]}` cannot be the name of a saved call.",
            hint="Letters, digits, spaces and . _ - + @ make one (80 at most); names of devices of Windows do not.",
        )
    return name


def literal(value: Json) -> Json:
    """The value as it stands in a file: what looks like a reference in it is none."""
    return changed(value, lambda _, item: item.replace("${", "$${") if isinstance(item, str) else item)


# ---------------------------------------------------------------------- reading


def read_saved(text: str, name: str, file: FilePath, where: Where, problems: list[Problem]) -> SavedCall | None:
    """A saved call; None where anything is wrong with it, which is then among the problems."""
    before = len(problems)
    try:
        document = table.read(text, _float)
    except (ValueError, RecursionError) as problem:
        why = "It is nested too deeply" if isinstance(problem, RecursionError) else problem
        problems.append(Problem(str(file), "", f"is no valid TOML: {why}."))
        return None
    top = Table(document, str(file), "", problems)
    version = top.take_integer("version", VERSION, 1)
    if version > VERSION:
        top.problem("version", f"is {version}: it was written by a newer mcp-studio, and is not read.")
        return None
    ref = _ref(top)
    description = top.take_text("description")
    pinned = top.take_flag("pinned")
    arguments = _arguments(top)
    _refuse_unknown(arguments, top)
    top.refuse_rest()
    if len(problems) > before or ref is None:
        return None
    return SavedCall(name, ref, arguments, description, where, file, pinned=pinned)


def _float(text: str) -> float:
    plain = text.replace("_", "").removeprefix("+")
    # What JSON does not have stays a float that is none.
    return ExactFloat(plain) if _FLOAT.match(plain) else float(plain)


def _ref(top: Table) -> Ref | None:
    server = top.take_text("server")
    found: list[tuple[EntryKind, str]] = [(kind, name) for kind in KINDS if (name := top.take_text(kind))]
    if not server:
        top.problem("server", "is missing: the name of the server.")
    if len(found) != 1:
        words = "tool, prompt, template or resource"
        top.problem("", f"needs one of {words}." if not found else f"can have only one of {words}.")
        return None
    return Ref(found[0][0], server, found[0][1])


def _arguments(top: Table) -> Json:
    given = top.take_json("arguments")
    if isinstance(given, str):
        try:
            return loads(given, exact=True)
        except (JsonProblem, StudioError) as problem:
            top.problem("arguments", f"is a string, but invalid JSON: {problem}.")
    elif given is None or isinstance(given, dict):
        return given
    else:
        top.problem("arguments", f"must be a table, or JSON in a string, not {kind_of(given)}.")
    return None


def _refuse_unknown(arguments: Json, top: Table) -> None:
    """Note every `${…}` that means nothing: sent as it is, it would be a text that nobody meant."""
    for path, text in walk(arguments):
        where = ".".join(("arguments", *map(str, path)))
        for found in REFERENCE.finditer(text) if isinstance(text, str) else ():
            name = found[3]
            if not found[1] and not found[2]:
                top.problem(where, f"`{found[0]}` is no reference.", "A literal ${ is written as $${.")
            elif not found[1] and (
                not 0 < len(name) <= _LONGEST or not name.isprintable() or hidden_in(name) or ":" in name
            ):
                # People agree to names that they read on a line.
                top.problem(where, "refers to a secret by a name that is empty or cannot be shown whole on a line.")


# ---------------------------------------------------------------------- writing


def saved_text(saved: SavedCall) -> str:
    """The text of its file. The arguments stand there as JSON, which says them without loss: TOML has no null."""
    texts = {"server": saved.ref.server, saved.ref.kind: saved.ref.name, "description": saved.description}
    # TOML reads the strings of JSON, but for half a character, which a name of a server may have.
    whole = {key: text.encode("utf-8", "replace").decode() for key, text in texts.items()}
    facts = {"version": VERSION, **whole, "pinned": saved.pinned}
    lines = [f"{key} = {printable(value)}" for key, value in facts.items() if value]
    if saved.arguments is not None:
        json = printable(saved.arguments).replace("'''", "\\u0027" * 3)
        lines.append(f"arguments = '''\n{json}\n'''")
    return "\n".join([*lines, ""])


# ---------------------------------------------------------------------- secrets


class Filled(NamedTuple):
    """What came of the arguments of a saved call."""

    arguments: Json
    hidden: frozenset[str] = frozenset()
    """Pointers of the places where secrets stand, or stood before they were left out."""
    secrets: tuple[str, ...] = ()
    """The secrets themselves, for the redactor."""


def fill(
    saved: SavedCall, *, secrets: bool = True, environ: Mapping[str, str] = os.environ, keyring: Lookup = lookup
) -> Filled:
    """The arguments with every `${…}` replaced. May wait for the keyring: it belongs into a thread.

    Args:
        secrets: False leaves out what is secret, and asks neither environment nor keyring.

    Raises:
        ConfigError: a secret is not there; it names its place.
    """
    hidden: set[str] = set()
    known: dict[str, None] = {}
    expander = Expander(environ, keyring)

    def text(path: Path, value: Json) -> object:
        if not isinstance(value, str):
            return value

        def reference(one: re.Match[str]) -> str:
            if not one[2]:
                return "${"
            hidden.add(pointer(*path))
            known[found := expander.text(one[0]) if secrets else ""] = None
            return found

        try:
            made = REFERENCE.sub(reference, value)
        except ConfigError as problem:
            where = f"{saved.name}: {'.'.join(('arguments', *map(str, path)))}"
            raise ConfigError(f"{where}: {problem.message}", file=str(saved.file), hint=problem.hint) from None
        return GONE if not secrets and pointer(*path) in hidden else made

    made = changed(saved.arguments, text)
    return Filled(None if made is GONE else made, frozenset(hidden), tuple(filter(None, known)))


def secrets_in(arguments: Json, keeper: SecretFilter, hidden: Collection[str] = ()) -> tuple[Path, ...]:
    """The places of a value that are secret."""
    return tuple(path_of(place, arguments) for place in keeper.without(arguments, hidden)[1])


def without_secrets(arguments: Json, places: Iterable[Path], stored: Mapping[Path, str]) -> Json:
    """Arguments as a file may have them: a secret is there by its name in the keyring, or not at all.

    Args:
        places: where secrets stand.
        stored: the names of those that the keyring has.
    """
    value = literal(arguments)
    for path in reversed(tuple(places)):  # items of a list move up
        name = stored.get(path)
        value = put(value, path, f"${{keyring:{name}}}") if name else remove(value, path) if path else None
    return value


def with_secrets_of(earlier: SavedCall | None, saved: SavedCall) -> SavedCall:
    """The call with the secrets that an earlier one has, and that a form which was filled with it never saw."""
    if earlier is None or earlier.ref != saved.ref:
        return saved
    value = saved.arguments
    for place in fill(earlier, secrets=False).hidden:
        path = path_of(place, earlier.arguments)
        text = get_or_none(earlier.arguments, path)
        if has(value, path) or not isinstance(text, str):
            continue
        keys = list(mapping(get_or_none(earlier.arguments, path[:-1])))
        before = keys[: keys.index(str(path[-1]))] if path[-1] in keys else []
        with suppress(NoPlace):
            value = put(value, path, text, tuple(before))
    return replace_fields(saved, arguments=value)


# ---------------------------------------------------------------------- folders


class Loaded(NamedTuple):
    """What is in the folders: those of the project first, each folder by name."""

    calls: tuple[SavedCall, ...] = ()
    failed: tuple[Problem, ...] = ()


@record(frozen=True)
class Folders:
    """Where saved calls are."""

    project: FilePath
    """The folder of the project, or where it would be made."""
    personal: FilePath
    in_project: bool
    """There is a project: its folder is read, and written where nothing else is said."""
    trust: TrustStore

    @property
    def usual(self) -> Where:
        """Where a new call is saved where nothing is said."""
        return "project" if self.in_project else "personal"

    def path(self, where: Where) -> FilePath:
        """One of the folders."""
        return self.project if where == "project" else self.personal

    def load(self) -> Loaded:
        """All that is there; a file that cannot be used costs none of the others."""
        problems: list[Problem] = []
        found = [_read(file, where, problems) for where in self._places for file in _files(self.path(where), problems)]
        return Loaded(tuple(filter(None, found)), tuple(problems))

    @property
    def _places(self) -> tuple[Where, ...]:
        return ("project", "personal") if self.project != self.personal else ("personal",)

    def find(self, name: str) -> SavedCall:
        """The call of this name; `project:NAME` and `personal:NAME` say whose.

        Raises:
            ConfigError: its file is broken; the sentence says how.
            UsageError: there is none.
        """
        where, bare = split(name)
        broken: list[Problem] = []
        for whose in self._places:
            file = self.path(whose) / f"{bare}.toml"
            # Its file alone: what else lies in a project's folder does not matter.
            if where in ("", whose) and usable(bare) and os.path.lexists(file):
                if (saved := _read(file, whose, broken)) is not None:
                    return saved
        for problem in broken:
            raise ConfigError(str(problem), file=problem.file, key=problem.key)
        hint = nearest(bare, (saved.name for saved in self.load().calls)) or "`mcp-studio list saved` shows them."
        raise UsageError(f"There is no saved call `{bare[:80]}`.", hint=hint)

    def write(self, saved: SavedCall, *, replace: bool) -> SavedCall:
        """Save a call under its name, `where` it says; gives it with its file.

        Raises:
            UsageError: there is one of that name, or the name cannot be used.
            ConfigError: it cannot be written.
        """
        file = self.path(saved.where) / f"{check_name(saved.name)}.toml"
        content = saved_text(saved).encode()
        try:
            if not replace and file.exists():
                raise UsageError(f"There is a saved call `{saved.name}` already.", hint=str(file))
            write_atomically(file, content, mode=0o644)
        except OSError as problem:
            raise ConfigError(f"It cannot be written: {problem.strerror or problem}.", file=str(file)) from None
        new = replace_fields(saved, file=file, seen=digest(file, content))
        self.agree(new)
        return new

    def rename(self, saved: SavedCall, name: str) -> SavedCall:
        """Give a call another name; what was agreed to stays so, unless somebody has changed the file meanwhile.

        Raises:
            UsageError, ConfigError: as `write`.
        """
        file = saved.file.with_name(f"{check_name(name)}.toml")
        try:
            if file.exists() and not (saved.file.exists() and file.samefile(saved.file)):
                raise UsageError(f"There is a saved call `{name}` already.", hint=str(file))
            saved.file.rename(file)
            content = file.read_bytes()
        except OSError as problem:
            raise ConfigError(f"It cannot be renamed: {problem.strerror or problem}.", file=str(saved.file)) from None
        new = replace_fields(saved, name=name, file=file, seen=digest(file, content))
        if self.agreed(saved) and digest(saved.file, content) == saved.seen:
            self.agree(new)
        return new

    def delete(self, saved: SavedCall) -> None:
        """Remove its file.

        Raises:
            ConfigError: it cannot be removed.
        """
        try:
            saved.file.unlink(missing_ok=True)
        except OSError as problem:
            raise ConfigError(f"It cannot be deleted: {problem.strerror or problem}.", file=str(saved.file)) from None

    def agreed(self, saved: SavedCall) -> bool:
        """Whether it may use secrets of this computer: the person's own may, another's once they agreed to the file."""
        return saved.where == "personal" or not saved.references or self.trust.agreed(saved.seen)

    def agree(self, saved: SavedCall) -> None:
        """The person lets it use them, as it was when it was read: not as somebody may have changed it meanwhile."""
        if saved.where == "project" and saved.references and saved.seen:
            with suppress(ConfigError):  # it is asked about again
                self.trust.agree(saved.seen, str(saved.file))


def folders(paths: Paths, cwd: FilePath, setting: str = "") -> Folders:
    """Where saved calls are for somebody in this folder; `setting` is `calls` of the settings."""
    trust = TrustStore(paths.trust_file)
    personal = paths.config / CALLS
    if setting:
        return Folders(FilePath(setting), personal, True, trust)
    above = [cwd.absolute(), *cwd.absolute().parents]
    root = next((folder for folder in above if (folder / ".git").exists()), above[0])
    for folder in above[: above.index(root) + 1]:
        if (folder / PROJECT_FILE).is_file() or (folder / PROJECT_FOLDER).is_dir():
            return Folders(folder / PROJECT_FOLDER / CALLS, personal, True, trust)
    return Folders(root / PROJECT_FOLDER / CALLS, personal, False, trust)


def split(name: str) -> tuple[Where | str, str]:
    """`project:NAME` or `personal:NAME` in two; a name alone is anybody's."""
    head, colon, bare = name.partition(":")
    return (head, bare) if colon and head in ("project", "personal") else ("", name)


def _files(folder: FilePath, problems: list[Problem]) -> Iterable[FilePath]:
    try:
        found = sorted(file for file in folder.iterdir() if file.suffix == ".toml" and not file.name.startswith("."))
    except (FileNotFoundError, NotADirectoryError):
        return ()
    except OSError as problem:
        problems.append(Problem(str(folder), "", f"cannot be read: {problem.strerror or problem}."))
        return ()
    return found[:_MOST]


def _read(file: FilePath, where: Where, problems: list[Problem]) -> SavedCall | None:
    try:
        check_name(file.stem)
        data = read_end(file, _LARGEST + 1)
        if len(data) > _LARGEST:
            raise OSError("it is larger than 1 MB")
        text = data.decode("utf-8-sig")
    except UsageError as problem:
        problems.append(Problem(str(file), "", problem.message, problem.hint))
    except UnicodeDecodeError:
        problems.append(Problem(str(file), "", "is not UTF-8 text."))
    except OSError as problem:
        problems.append(Problem(str(file), "", f"cannot be read: {problem.strerror or problem}."))
    else:
        saved = read_saved(text, file.stem, file, where, problems)
        return saved if saved is None or where == "personal" else replace_fields(saved, seen=digest(file, data))
    return None
