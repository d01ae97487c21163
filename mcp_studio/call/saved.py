"""A call with a name: what is called, with which arguments, and what is asked for first."""

from __future__ import annotations

import os
import re
import time
import tomllib
from collections.abc import Iterable
from dataclasses import replace as replace_fields
from pathlib import Path
from typing import Any, Literal, NamedTuple, cast

from mcp_studio.catalog.listing import KINDS, EntryKind, Ref
from mcp_studio.config import table
from mcp_studio.config.load import TrustStore, digest
from mcp_studio.config.model import Problem
from mcp_studio.config.table import Table, kind_of, nearest
from mcp_studio.errors import ConfigError, StudioError, UsageError
from mcp_studio.jsontext import ExactFloat, Json, JsonProblem, dumps, loads, pretty
from mcp_studio.paths import Paths, portable, write_atomically
from mcp_studio.record import record
from mcp_studio.safetext import hidden_in
from mcp_studio.schema.place import Path as Place
from mcp_studio.schema.place import pointer

Where = Literal["project", "personal"]
"""Whose folder a saved call is in."""
REFERENCE = re.compile(r"\$(\$\{)|\$\{(?:(env|keyring):)?([^{}]*)\}")
"""`$${` (group 1), `${env:NAME}`, `${keyring:NAME}` (groups 2 and 3) and `${NAME}` (group 3)."""
VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,79}\Z")
"""Names of variables."""
_NAME = re.compile(r"[\w][\w .+@-]{0,79}\Z")


@record(frozen=True)
class Variable:
    """Something that is asked for before a saved call is run."""

    name: str
    schema: dict[str, Json]
    """A JSON Schema of its value."""
    required: bool = True
    secret: bool = False
    """Its value is shown to nobody and written nowhere."""

    @property
    def has_default(self) -> bool:
        """Whether it has a value where none is given."""
        return "default" in self.schema


@record(frozen=True)
class SavedCall:
    """One file of a folder of saved calls."""

    name: str
    ref: Ref
    arguments: Json = None
    """As they are written: `${…}` not replaced."""
    description: str = ""
    variables: tuple[Variable, ...] = ()
    where: Where = "personal"
    file: Path = Path()
    seen: str = ""
    """What agreeing to its file is remembered under, as the file was when it was read."""

    @property
    def verb(self) -> str:
        """What running it means: `call`, `get` or `read`."""
        return {"tool": "call", "prompt": "get"}.get(self.ref.kind, "read")

    @property
    def references(self) -> tuple[str, ...]:
        """The secrets of this computer that it uses, such as `${keyring:github}`, each once."""
        found = (match for _, text in texts(self.arguments) for match in REFERENCE.finditer(text) if match[2])
        return tuple(dict.fromkeys(match[0] for match in found))

    def variable(self, name: str) -> Variable | None:
        """The variable of this name."""
        return next((variable for variable in self.variables if variable.name == name), None)


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


def schema_of(variables: tuple[Variable, ...]) -> dict[str, Json]:
    """The schema of an object with a member for each variable."""
    return {
        "type": "object",
        "properties": {
            one.name: {**one.schema, **({"writeOnly": True} if one.secret else {})} for one in variables
        },
        "required": [one.name for one in variables if one.required and not one.has_default],
        "additionalProperties": False,
    }  # fmt: skip


def texts(value: Json) -> list[tuple[str, str]]:
    """All strings in a value, each with the pointer of its place."""
    found: list[tuple[str, str]] = []
    todo: list[tuple[Place, Json]] = [((), value)]
    while todo:
        path, item = todo.pop()
        if isinstance(item, str):
            found.append((pointer(*path), item))
        elif isinstance(item, dict):
            todo += [((*path, key), inner) for key, inner in reversed(cast("dict[str, Json]", item).items())]
        elif isinstance(item, list):
            rows = list(enumerate(cast("list[Json]", item)))
            todo += [((*path, index), inner) for index, inner in reversed(rows)]
    return found


def literal(value: Json) -> Json:
    """The value as it stands in a file: what looks like a reference in it is none."""
    if isinstance(value, str):
        return value.replace("${", "$${")
    if isinstance(value, dict):
        return {key: literal(item) for key, item in cast("dict[str, Json]", value).items()}
    return [literal(item) for item in cast("list[Json]", value)] if isinstance(value, list) else value


_BARE = re.compile(r"[A-Za-z0-9_-]+\Z")
_FLOAT = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?\Z")
_SPECIAL = re.compile('[\x00-\x1f"\\\\\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]')
"""What stands as an escape in a string: what TOML wants so, and what nobody could see."""
_SHORT = {"\n": "\\n", "\t": "\\t", "\r": "\\r", '"': '\\"', "\\": "\\\\"}
_SURROGATE = re.compile("[\ud800-\udfff]")
_DEEPEST = 16


class Unsayable(ValueError):
    """TOML has no such value."""


def read_toml(text: str) -> dict[str, Any]:
    """A document whose numbers are as they were typed.

    Raises:
        tomllib.TOMLDecodeError: it is none; also a number of absurd length, and absurd nesting.
    """
    try:
        return table.read(text, _float)
    except RecursionError:
        raise tomllib.TOMLDecodeError("It is nested too deeply") from None


def not_json(value: Any, where: str) -> str:
    """Where in a value something stands that JSON does not have; empty where nothing does."""
    if isinstance(value, dict):
        inner = ((f"{where}.{key}", item) for key, item in cast("dict[str, Any]", value).items())
    elif isinstance(value, list):
        inner = ((f"{where}[{index}]", item) for index, item in enumerate(cast("list[Any]", value)))
    elif isinstance(value, float):
        return "" if isinstance(value, ExactFloat) or value - value == 0.0 else where
    else:
        return "" if value is None or isinstance(value, str | int) else where
    return next((found for place, item in inner if (found := not_json(item, place))), "")


def key_text(key: str) -> str:
    """A key as it stands in a file.

    Raises:
        Unsayable: it has half a character in it.
    """
    return key if _BARE.match(key) else _string(key)


def value_text(value: Json, depth: int = 0) -> str:
    """A value on one line, objects as inline tables, which keeps the order of their keys.

    Raises:
        Unsayable: TOML cannot say it without loss.
    """
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return _string(value)
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        return _number(value)
    if value is None or depth > _DEEPEST:
        raise Unsayable("null" if value is None else "depth")
    if isinstance(value, list):
        return "[" + ", ".join(value_text(item, depth + 1) for item in cast("list[Json]", value)) + "]"
    members = cast("dict[str, Json]", value).items()
    inner = ", ".join(f"{key_text(key)} = {value_text(item, depth + 1)}" for key, item in members)
    return f"{{ {inner} }}" if inner else "{}"


def long_text(value: Json) -> str:
    """The same, but a text of several lines stands on several lines."""
    if not isinstance(value, str) or "\n" not in value.strip("\n") or "\r" in value:
        return value_text(value)
    body = _escaped(value, keep='\n\t"').replace('"""', '""\\"')
    body = f'{body[:-1]}\\"' if body.endswith('"') else body
    return f'"""\n{body}"""'


def json_text(value: Json) -> str:
    """A value as JSON inside a literal string of several lines."""
    text = _SURROGATE.sub(lambda found: f"\\u{ord(found[0]):04x}", pretty(value))
    text = text.replace("'''", "\\u0027" * 3).replace("\x7f", "\\u007f")
    return f"'''\n{text}\n'''"


def same(one: Json, other: Json) -> bool:
    """Whether two values are written the same: `1`, `1.0` and `true` are three things."""
    return dumps(one) == dumps(other)


def _float(text: str) -> float:
    plain = text.replace("_", "").removeprefix("+")
    # What JSON does not have stays a float that is none.
    return ExactFloat(plain) if _FLOAT.match(plain) else float(plain)


def _number(value: float) -> str:
    text = value.text if isinstance(value, ExactFloat) else repr(float(value))
    if not _FLOAT.match(text) or text.lstrip("-").isdecimal():
        raise Unsayable("number")
    return text


def _string(text: str) -> str:
    return f'"{_escaped(text)}"'


def _escaped(text: str, keep: str = "") -> str:
    if _SURROGATE.search(text):
        raise Unsayable("half a character")

    def escape(found: re.Match[str]) -> str:
        char = found[0]
        return char if char in keep else _SHORT.get(char, f"\\u{ord(char):04x}")

    return _SPECIAL.sub(escape, text)


VERSION = 1
_LONGEST = 200
_TYPES = ("string", "integer", "number", "boolean", "array", "object")
_KEYWORDS = (
    "title description default enum examples format minimum maximum exclusiveMinimum exclusiveMaximum multipleOf "
    "minLength maxLength pattern items minItems maxItems uniqueItems"
).split()


def read_saved(text: str, name: str, file: Path, where: Where, problems: list[Problem]) -> SavedCall | None:
    """A saved call; None where anything is wrong with it, which is then among the problems."""
    before = len(problems)
    try:
        document = read_toml(text)
    except tomllib.TOMLDecodeError as problem:
        problems.append(Problem(str(file), "", f"is no valid TOML: {problem}."))
        return None
    table = Table(document, str(file), "", problems)
    version = table.take_integer("version", VERSION, 1)
    if version > VERSION:
        table.problem("version", f"is {version}: it was written by a newer mcp-studio, and is not read.")
        return None
    ref = _ref(table)
    description = table.take_text("description")
    arguments = _saved_text_arguments(table)
    variables = _saved_text_variables(table.take("variables"), table)
    table.refuse_rest()
    _check_references(arguments, variables, table)
    if len(problems) > before or ref is None:
        return None
    return SavedCall(name, ref, arguments, description, variables, where, file)


def saved_text(saved: SavedCall) -> str:
    """The text of a new file."""
    lines = [f"version = {VERSION}", f"server = {_plain(saved.ref.server)}"]
    lines += [f"{saved.ref.kind} = {_plain(saved.ref.name)}"]
    if saved.description:
        lines += [f"description = {_plain(saved.description)}"]
    try:
        table = arguments_table(saved.arguments)
    except Unsayable:
        lines += [f"arguments = {json_text(saved.arguments)}"]
        table = ""
    parts = ["\n".join(lines) + "\n", table, *map(variable_table, saved.variables)]
    return "\n".join(part for part in parts if part)


def arguments_table(arguments: Json) -> str:
    """`[arguments]`; empty where there are none.

    Raises:
        Unsayable: they have to be written as JSON.
    """
    if arguments is None:
        return ""
    if not isinstance(arguments, dict):
        raise Unsayable("no object")
    rows = [f"{key_text(key)} = {long_text(item)}" for key, item in cast("dict[str, Json]", arguments).items()]
    return "\n".join(["[arguments]", *rows]) + "\n"


def variable_table(variable: Variable) -> str:
    """`[variables.NAME]`; what TOML cannot say of its schema is left out."""
    rows = [f"[variables.{variable.name}]"]
    for key, item in variable.schema.items():
        try:
            rows.append(f"{key_text(key)} = {value_text(item)}")
        except Unsayable:
            continue
    if variable.secret:
        rows.append("secret = true")
    if not variable.required and not variable.has_default:
        rows.append("required = false")
    return "\n".join(rows) + "\n"


def means(text: str, saved: SavedCall) -> bool:
    """Whether a text says exactly this."""
    found = read_saved(text, saved.name, saved.file, saved.where, [])
    return (
        found is not None
        and (found.ref, found.description) == (saved.ref, saved.description)
        and same(found.arguments, saved.arguments)
        and same([_shown(one) for one in found.variables], [_shown(one) for one in saved.variables])
    )


def _shown(variable: Variable) -> Json:
    return [variable.name, variable.schema, variable.required and not variable.has_default, variable.secret]


def _plain(text: str) -> str:
    """A line of ours; half a character in a name of a server cannot be written, and is marked."""
    try:
        return value_text(text)
    except Unsayable:
        return value_text(text.encode("utf-8", "replace").decode())


def _ref(table: Table) -> Ref | None:
    server = table.take_text("server")
    found: list[tuple[EntryKind, str]] = [(kind, name) for kind in KINDS if (name := table.take_text(kind))]
    if not server:
        table.problem("server", "is missing: the name of the server.")
    if len(found) != 1:
        words = "tool, prompt, template or resource"
        table.problem("", f"needs one of {words}." if not found else f"can have only one of {words}.")
        return None
    return Ref(found[0][0], server, found[0][1])


def _saved_text_arguments(table: Table) -> Json:
    given = table.take("arguments")
    if isinstance(given, str):
        try:
            return loads(given, exact=True)
        except (JsonProblem, StudioError) as problem:
            table.problem("arguments", f"is a string, but no JSON: {problem}.")
            return None
    if given is not None and not isinstance(given, dict):
        table.problem("arguments", f"must be a table, or JSON in a string, not {kind_of(given)}.")
        return None
    if wrong := not_json(given, "arguments"):
        table.problem(wrong, "is no JSON value.", "Dates and times have to be written as strings.")
    return cast("Json", given)


def _saved_text_variables(given: Any, outer: Table) -> tuple[Variable, ...]:
    if given is None:
        return ()
    tables = Table(given, outer.file, "variables", outer.problems)
    return tuple(_variable(name, tables.take(name), tables) for name in tables.keys())


def _variable(name: str, values: Any, outer: Table) -> Variable:
    table = Table(values, outer.file, f"variables.{name}", outer.problems)
    if not VARIABLE.match(name):
        table.problem("", "is no name of a variable: it begins with a letter, and has letters, digits, _ and - only.")
    kind = table.take_text("type", "", _TYPES)
    table.take_text("title")
    table.take_text("description")
    secret = table.take_flag("secret")
    schema: dict[str, Json] = {}
    for key in table.keys():
        if key in ("type", *_KEYWORDS):
            schema[key] = item = table.take(key)
            if wrong := not_json(item, key):
                table.problem(wrong, "is no JSON value.", "Dates and times have to be written as strings.")
    if not isinstance(schema.get("enum", []), list):
        table.problem("enum", "must be a list of the values that there are.")
    if secret and "default" in schema:
        table.problem("default", "of a secret would be one that everybody can read.", f"Use ${{keyring:{name}}}.")
    if kind:
        schema["type"] = kind
    required = table.take_flag("required", "default" not in schema)
    table.refuse_rest(_KEYWORDS)
    return Variable(name, schema, required, secret)


def _check_references(arguments: Json, variables: tuple[Variable, ...], table: Table) -> None:
    """A `${…}` that means nothing is a mistake: sent as it is, it would be a text that nobody meant."""
    names = [variable.name for variable in variables]
    for place, text in texts(arguments):
        for found in REFERENCE.finditer(text):
            where = "arguments" + place.replace("/", ".")
            if found[1] or (found[3] in names and not found[2]):
                continue
            if found[2] and not found[3]:
                table.problem(where, f"`{found[0]}` has no name.")
            elif found[2] and (len(found[3]) > _LONGEST or hidden_in(found[3]) or "\n" in found[3]):
                # People agree to names that they read on a line.
                table.problem(where, "refers to a secret by a name that cannot be shown whole on a line.")
            elif not found[2]:
                hint = nearest(found[3], names) or "A literal ${ is written as $${."
                table.problem(where, f"`{found[0]}` is no variable: there is no [variables.{found[3]}].", hint)


def changed_text(before: str, saved: SavedCall) -> str:
    """The text of a file that says `saved` now; where it cannot be changed in place, a new text."""
    from tomlkit.exceptions import TOMLKitError

    old = read_saved(before, saved.name, saved.file, saved.where, [])
    if old is None:
        return saved_text(saved)
    try:
        text = _edited(before, old, saved)
    except (TOMLKitError, ValueError, KeyError, TypeError, RecursionError):
        return saved_text(saved)
    return text if means(text, saved) else saved_text(saved)


def _edited(before: str, old: SavedCall, saved: SavedCall) -> str:
    import tomlkit

    document: Any = tomlkit.parse(before)
    plain = read_toml(before)
    for key, value in (("version", VERSION), ("server", saved.ref.server), ("description", saved.description)):
        if value and plain.get(key) != value and (key != "version" or "version" in plain):
            _set(document, key, value)
        elif not value:
            document.pop(key, None)
    if old.ref.kind != saved.ref.kind or old.ref.name != saved.ref.name:
        if old.ref.kind != saved.ref.kind:
            raise Unsayable("another kind")
        document[saved.ref.kind] = saved.ref.name
    assert {*KINDS} & {*plain}
    if not same(old.arguments, saved.arguments):
        _arguments(document, old.arguments, saved.arguments)
    _variables(document, old, saved)
    return tomlkit.dumps(document)


def _set(document: Any, key: str, value: Json) -> None:
    """Set a key; a new one cannot come behind a table, so that a new text is written instead.

    Raises:
        Unsayable: it is new.
    """
    if key not in document:
        raise Unsayable("a new key")
    document[key] = value


def _arguments(document: Any, old: Json, new: Json) -> None:
    import tomlkit

    table: Any = document.get("arguments")
    if not isinstance(old, dict) or not isinstance(new, dict) or isinstance(table, str):
        if not isinstance(table, str):
            raise Unsayable("not a table any more")
        document["arguments"] = tomlkit.value(json_text(new))
        return
    before, after = cast("dict[str, Json]", old), cast("dict[str, Json]", new)
    arguments_table(after)  # raises where they have to be JSON from now on
    kept = [key for key in after if key in before]
    if kept != [key for key in before if key in after] or list(after)[: len(kept)] != kept:
        raise Unsayable("another order")
    for key in before:
        if key not in after:
            del table[key]
    for key, item in after.items():
        if key not in before or not same(before[key], item):
            table[key] = tomlkit.value(long_text(item))


def _variables(document: Any, old: SavedCall, saved: SavedCall) -> None:
    import tomlkit

    tables: Any = document.get("variables")
    names = [variable.name for variable in saved.variables]
    for variable in old.variables:
        if variable.name not in names:
            del tables[variable.name]
    for variable in saved.variables:
        if old.variable(variable.name) == variable:
            continue
        if tables is None:
            document["variables"] = tables = tomlkit.table(is_super_table=True)
        made: Any = tomlkit.parse(variable_table(variable))
        tables[variable.name] = made["variables"][variable.name]


PROJECT_FILE = ".mcp-studio.toml"
PROJECT_FOLDER = ".mcp-studio"
CALLS = "calls"
_LARGEST = 1024 * 1024
_MOST = 5_000
_PATIENCE = 5.0
"""Seconds for reading all files of the folders."""


class Loaded(NamedTuple):
    """What is in the folders: those of the project first, each folder by name."""

    calls: tuple[SavedCall, ...] = ()
    failed: tuple[Problem, ...] = ()


@record(frozen=True)
class Folders:
    """Where saved calls are."""

    project: Path
    """The folder of the project, or where it would be made."""
    personal: Path
    in_project: bool
    """There is a project: its folder is read, and written where nothing else is said."""
    trust: TrustStore

    @property
    def usual(self) -> Where:
        """Where a new call is saved where nothing is said."""
        return "project" if self.in_project else "personal"

    def path(self, where: Where) -> Path:
        """One of the folders."""
        return self.project if where == "project" else self.personal

    def load(self) -> Loaded:
        """All that is there; a file that cannot be used costs none of the others."""
        problems: list[Problem] = []
        found: list[SavedCall] = []
        end = time.monotonic() + _PATIENCE
        for where in self._places:
            for file in _files(self.path(where), problems):
                if time.monotonic() > end:
                    problems.append(Problem(str(file), "", f"and what comes after it took more than {_PATIENCE:g} s."))
                    break
                if (saved := _read(file, where, problems)) is not None:
                    found.append(saved)
        return Loaded(tuple(found), tuple(problems))

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
        loaded = self.load()
        hint = nearest(bare, (saved.name for saved in loaded.calls)) or "`mcp-studio list saved` shows them."
        raise UsageError(f"There is no saved call `{bare[:80]}`.", hint=hint)

    def write(self, saved: SavedCall, *, replace: bool) -> SavedCall:
        """Save a call under its name, `where` it says; gives it with its file.

        Raises:
            UsageError: there is one of that name, or the name cannot be used.
            ConfigError: it cannot be written.
        """
        file = self.path(saved.where) / f"{check_name(saved.name)}.toml"
        new = replace_fields(saved, file=file)
        try:
            before = file.read_bytes() if file.exists() else None
            if before is not None and not replace:
                raise UsageError(f"There is a saved call `{saved.name}` already.", hint=str(file))
            text = saved_text(new) if before is None else changed_text(before.decode("utf-8", "replace"), new)
            write_atomically(file, text.encode(), mode=0o644)
        except OSError as problem:
            raise ConfigError(f"It cannot be written: {problem.strerror or problem}.", file=str(file)) from None
        new = replace_fields(new, seen=digest(file, text.encode()))
        self.agree(new)
        return new

    def rename(self, saved: SavedCall, name: str) -> SavedCall:
        """Give a call another name.

        Raises:
            UsageError, ConfigError: as `write`.
        """
        file = saved.file.with_name(f"{check_name(name)}.toml")
        agreed = self.agreed(saved)
        try:
            if file.exists() and not (saved.file.exists() and file.samefile(saved.file)):
                raise UsageError(f"There is a saved call `{name}` already.", hint=str(file))
            saved.file.rename(file)
        except OSError as problem:
            raise ConfigError(f"It cannot be renamed: {problem.strerror or problem}.", file=str(saved.file)) from None
        new = replace_fields(saved, name=name, file=file)
        if agreed:
            self._agree_again(saved, new)
        return new

    def _agree_again(self, old: SavedCall, new: SavedCall) -> None:
        """The same file is agreed to under its new name; what somebody has changed meanwhile is asked about."""
        try:
            content = new.file.read_bytes()
        except OSError:
            return
        if digest(old.file, content) == old.seen:
            self.agree(replace_fields(new, seen=digest(new.file, content)))

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
            try:
                self.trust.agree(saved.seen, str(saved.file))
            except ConfigError:
                return  # it is asked about again


def folders(paths: Paths, cwd: Path, setting: str = "") -> Folders:
    """Where saved calls are for somebody in this folder; `setting` is `calls` of the settings."""
    trust = TrustStore(paths.trust_file)
    personal = paths.config / CALLS
    if setting:
        return Folders(Path(setting), personal, True, trust)
    root = _root(cwd.absolute())
    for folder in (cwd.absolute(), *cwd.absolute().parents):
        if (folder / PROJECT_FILE).is_file() or (folder / PROJECT_FOLDER).is_dir():
            return Folders(folder / PROJECT_FOLDER / CALLS, personal, True, trust)
        if folder == root:
            break
    return Folders(root / PROJECT_FOLDER / CALLS, personal, False, trust)


def split(name: str) -> tuple[Where | str, str]:
    """`project:NAME` or `personal:NAME` in two; a name alone is anybody's."""
    head, colon, bare = name.partition(":")
    return (head, bare) if colon and head in ("project", "personal") else ("", name)


def _root(cwd: Path) -> Path:
    """The top of the repository around a folder; the folder itself where there is none."""
    return next((folder for folder in (cwd, *cwd.parents) if (folder / ".git").exists()), cwd)


def _files(folder: Path, problems: list[Problem]) -> Iterable[Path]:
    try:
        found = sorted(file for file in folder.iterdir() if file.suffix == ".toml" and not file.name.startswith("."))
    except (FileNotFoundError, NotADirectoryError):
        return ()
    except OSError as problem:
        problems.append(Problem(str(folder), "", f"cannot be read: {problem.strerror or problem}."))
        return ()
    if len(found) > _MOST:
        problems.append(Problem(str(folder), "", f"has {len(found)} files; the first {_MOST} are read."))
    return found[:_MOST]


def _read(file: Path, where: Where, problems: list[Problem]) -> SavedCall | None:
    try:
        check_name(file.stem)
        if not file.is_file():
            raise OSError("it is no file")
        if file.stat().st_size > _LARGEST:
            raise OSError("it is larger than 1 MB")
        data = file.read_bytes()
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
