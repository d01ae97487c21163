"""Saved calls: an entry with arguments. Each is one TOML file without secrets.

`tomllib` reads the files; numbers keep their spelling.
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
from mcp_studio.config.save import portable
from mcp_studio.config.table import Table, kind_of, nearest
from mcp_studio.errors import ConfigError, StudioError, UsageError
from mcp_studio.jsontext import ExactFloat, Json, JsonProblem, loads, mapping, printable
from mcp_studio.paths import Paths, write_atomically
from mcp_studio.record import record
from mcp_studio.safetext import hidden_in
from mcp_studio.schema.place import NoPlace, Path, get_or_none, has, path_of, pointer, put, remove
from mcp_studio.vault.keyring import lookup

Where = Literal["project", "personal"]
"""The owner of the folder of a saved call."""
REFERENCE = re.compile(r"\$(\$\{)|\$\{(?:(env|keyring):)?([^{}]*)\}")
"""`$${` (group 1), `${env:NAME}`, `${keyring:NAME}` (groups 2 and 3) and `${NAME}` (group 3)."""
VERSION = 1
PROJECT_FILE = ".mcp-studio.toml"
PROJECT_FOLDER = ".mcp-studio"
CALLS = "calls"
_NAME = r"[\w][\w .+@-]{0,79}\Z"
_LONGEST = 200
_LARGEST = 1024 * 1024
_MOST = 5_000
_FLOAT = r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?\Z"


@record(frozen=True)
class SavedCall:
    """One file of a folder of saved calls."""

    name: str
    ref: Ref
    arguments: Json = None
    """The arguments as written, with `${…}`."""
    description: str = ""
    where: Where = "personal"
    file: FilePath = FilePath()
    seen: str = ""
    """The digest under which an agreement is remembered, of the file as it was read."""
    pinned: bool = False
    """Whether watch mode repeats the call after every change of its server."""

    @property
    def verb(self) -> str:
        """The verb that runs the call: `call`, `get` or `read`."""
        return {"tool": "call", "prompt": "get"}.get(self.ref.kind, "read")

    @property
    def references(self) -> tuple[str, ...]:
        """The secrets of this computer that the call uses, such as `${keyring:github}`, without duplicates."""
        texts = (text for _, text in walk(self.arguments) if isinstance(text, str))
        found = (match for text in texts for match in REFERENCE.finditer(text) if match[2])
        return tuple(dict.fromkeys(match[0] for match in found))


def usable(name: str) -> bool:
    """Whether a name can be that of a file on every system."""
    return bool(re.match(_NAME, name)) and portable(name) and portable(f"{name}.toml")


def check_name(name: str) -> str:
    """The name, if it can be that of a file on every system.

    Raises:
        UsageError: the name cannot.
    """
    if not usable(name):
        raise UsageError(
            f"`{name[:80]}` cannot be the name of a saved call.",
            hint="Letters, digits, spaces and . _ - + @ make one (80 at most); names of devices of Windows do not.",
        )
    return name


def literal(value: Json) -> Json:
    """The value for a file: texts that look like references are escaped."""
    return changed(value, lambda _, item: item.replace("${", "$${") if isinstance(item, str) else item)


# ---------------------------------------------------------------------- reading


def read_saved(text: str, name: str, file: FilePath, where: Where, problems: list[Problem]) -> SavedCall | None:
    """Read a saved call; None, with the problems added, where anything is wrong with it."""
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
    # A number that JSON lacks stays a float without a spelling.
    return ExactFloat(plain) if re.match(_FLOAT, plain) else float(plain)


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
    """Add a problem for every meaningless `${…}`, which would otherwise be sent as it is."""
    for path, text in walk(arguments):
        where = ".".join(("arguments", *map(str, path)))
        for found in REFERENCE.finditer(text) if isinstance(text, str) else ():
            name = found[3]
            if not found[1] and not found[2]:
                top.problem(where, f"`{found[0]}` is no reference.", "A literal ${ is written as $${.")
            elif not found[1] and (
                not 0 < len(name) <= _LONGEST or not name.isprintable() or hidden_in(name) or ":" in name
            ):
                # People agree to names that they can read on one line.
                top.problem(where, "refers to a secret by a name that is empty or cannot be shown whole on a line.")


# ---------------------------------------------------------------------- writing


def saved_text(saved: SavedCall) -> str:
    """The text of the file. The arguments are JSON in a string, because TOML has no null."""
    texts = {"server": saved.ref.server, saved.ref.kind: saved.ref.name, "description": saved.description}
    # TOML reads the strings of JSON except lone surrogates, which a server's name may contain.
    whole = {key: text.encode("utf-8", "replace").decode() for key, text in texts.items()}
    facts = {"version": VERSION, **whole, "pinned": saved.pinned}
    lines = [f"{key} = {printable(value)}" for key, value in facts.items() if value]
    if saved.arguments is not None:
        json = printable(saved.arguments).replace("'''", "\\u0027" * 3)
        lines.append(f"arguments = '''\n{json}\n'''")
    return "\n".join([*lines, ""])


# ---------------------------------------------------------------------- secrets


class Filled(NamedTuple):
    """The arguments of a saved call after expansion."""

    arguments: Json
    hidden: frozenset[str] = frozenset()
    """Pointers of the places with secrets, also if the secrets were left out."""
    secrets: tuple[str, ...] = ()
    """The secrets, for the redactor."""


def fill(
    saved: SavedCall, *, secrets: bool = True, environ: Mapping[str, str] = os.environ, keyring: Lookup = lookup
) -> Filled:
    """Expand every `${…}` of the arguments. May wait for the keyring, so it belongs into a thread.

    Args:
        secrets: False leaves out secrets, and reads neither environment nor keyring.

    Raises:
        ConfigError: a secret is missing; the message names its place.
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
    """The places of secrets in a value."""
    return tuple(path_of(place, arguments) for place in keeper.without(arguments, hidden)[1])


def without_secrets(arguments: Json, places: Iterable[Path], stored: Mapping[Path, str]) -> Json:
    """Arguments for a file: each secret becomes a reference to the keyring, or is left out.

    Args:
        places: the places of secrets.
        stored: the names of secrets in the keyring, by place.
    """
    value = literal(arguments)
    for path in reversed(tuple(places)):  # backwards, because items of a list move up
        name = stored.get(path)
        value = put(value, path, f"${{keyring:{name}}}") if name else remove(value, path) if path else None
    return value


def with_secrets_of(earlier: SavedCall | None, saved: SavedCall) -> SavedCall:
    """The call with the secrets of an earlier version, which the form that produced it never showed."""
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
    """The calls in the folders, those of the project first, each folder by name."""

    calls: tuple[SavedCall, ...] = ()
    failed: tuple[Problem, ...] = ()


@record(frozen=True)
class Folders:
    """The folders of saved calls."""

    project: FilePath
    """The folder of the project, which may not exist yet."""
    personal: FilePath
    in_project: bool
    """Whether there is a project, whose folder is then read, and written by default."""
    trust: TrustStore

    @property
    def usual(self) -> Where:
        """The default owner of a new call."""
        return "project" if self.in_project else "personal"

    def path(self, where: Where) -> FilePath:
        return self.project if where == "project" else self.personal

    def load(self) -> Loaded:
        """Read all calls; an unusable file costs no other call."""
        problems: list[Problem] = []
        found = [_read(file, where, problems) for where in self._places for file in _files(self.path(where), problems)]
        return Loaded(tuple(filter(None, found)), tuple(problems))

    @property
    def _places(self) -> tuple[Where, ...]:
        return ("project", "personal") if self.project != self.personal else ("personal",)

    def find(self, name: str) -> SavedCall:
        """The call of a name; `project:NAME` and `personal:NAME` name the owner.

        Raises:
            ConfigError: the file is invalid; the message says how.
            UsageError: there is no such call.
        """
        where, bare = split(name)
        broken: list[Problem] = []
        for whose in self._places:
            file = self.path(whose) / f"{bare}.toml"
            # Only this file, because other files in a project's folder do not matter.
            if where in ("", whose) and usable(bare) and os.path.lexists(file):
                if (saved := _read(file, whose, broken)) is not None:
                    return saved
        for problem in broken:
            raise ConfigError(str(problem), file=problem.file, key=problem.key)
        hint = nearest(bare, (saved.name for saved in self.load().calls)) or "`mcp-studio list saved` shows them."
        raise UsageError(f"There is no saved call `{bare[:80]}`.", hint=hint)

    def write(self, saved: SavedCall, *, replace: bool) -> SavedCall:
        """Save a call in the folder of `where`; returns it with its file.

        Raises:
            UsageError: a call of that name exists, or the name is invalid.
            ConfigError: the file cannot be written.
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
        """Rename a call; an agreement stays unless somebody has changed the file meanwhile.

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
        """Delete the file of a call.

        Raises:
            ConfigError: the file cannot be deleted.
        """
        try:
            saved.file.unlink(missing_ok=True)
        except OSError as problem:
            raise ConfigError(f"It cannot be deleted: {problem.strerror or problem}.", file=str(saved.file)) from None

    def agreed(self, saved: SavedCall) -> bool:
        """Whether a call may use secrets of this computer: the person's own may, others after an agreement."""
        return saved.where == "personal" or not saved.references or self.trust.agreed(saved.seen)

    def agree(self, saved: SavedCall) -> None:
        """Record that the person lets the call use secrets, with the digest of the file as it was read."""
        if saved.where == "project" and saved.references and saved.seen:
            with suppress(ConfigError):  # the person will be asked again
                self.trust.agree(saved.seen, str(saved.file))


def folders(paths: Paths, cwd: FilePath, setting: str = "") -> Folders:
    """The folders of saved calls for a working folder; `setting` is `calls` of the settings."""
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
    """Split `project:NAME` or `personal:NAME`; a name alone has no owner."""
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
