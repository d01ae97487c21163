"""Skills (extension `io.modelcontextprotocol/skills`): entries of `skills/list`, and checks of their files.

A skill is a `SKILL.md` and further files, each an ordinary resource. Its entry lists them all with digest and size, and
repeats the frontmatter of `SKILL.md`. Files are read only on demand, and a file that does not match its entry is not
used. A match proves that entry and file have the same author, not that the author can be trusted.
"""

import base64
import hashlib
import re
from collections.abc import Collection, Iterator
from typing import Literal, NamedTuple, cast

from mcp_studio.config.table import read_yaml
from mcp_studio.jsontext import Json, items_of, mapping

EXTENSION = "io.modelcontextprotocol/skills"
FILES = 512
"""The number of files that every host accepts in a skill; more cause a note."""
BYTES = 16 * 1024 * 1024
"""The bytes of all files that every host accepts in a skill; more cause a note."""
SkillState = Literal["", "unread", "verified", "unverifiable", "refused"]
"""In order: no skill; not read yet; matches its entry; has no digests to compare; does not match its entry."""

_MAIN = "/SKILL.md"
# Patterns as texts: they are compiled for the first skill, not at every start.
_NAME = r"(?!.*--)[a-z0-9]([a-z0-9-]{0,62}[a-z0-9])?"
_DIGEST = r"sha256:[0-9a-f]{64}"
_RESERVED = "io.modelcontextprotocol/"
_MOST = 10
_FILES = 10_000
"""The most files of one skill that are read from its entry."""


class SkillFile(NamedTuple):
    """One file of a skill, as its entry lists it."""

    uri: str
    digest: str
    """`sha256:` and 64 hexadecimal digits."""
    size: int
    """Bytes."""


class Skill(NamedTuple):
    """The entry of one skill, identified by `server` and `uri`; names may occur twice."""

    server: str
    uri: str
    """The address of the skill's `SKILL.md`."""
    name: str
    description: str
    raw: dict[str, Json]
    frontmatter: dict[str, Json]
    files: tuple[SkillFile, ...]
    dynamic: bool
    """Whether the server creates the files at each reading, so that nothing can be compared."""
    errors: tuple[str, ...]
    """Sentences on why the entry is invalid, so that the skill must not be used."""
    notes: tuple[str, ...] = ()
    """Sentences on harmless faults and unusual values."""

    def file(self, uri: str) -> SkillFile | None:
        """The file at an address; None where the entry does not list it."""
        return next((file for file in self.files if file.uri == uri), None)

    def holds(self, uri: str) -> bool:
        """Whether an address is that of `SKILL.md`, or lies in its folder."""
        return bool(self.uri) and (uri == self.uri or uri.startswith(self.uri.removesuffix("SKILL.md")))


class Verdict(NamedTuple):
    """Whether content matches its entry, with sentences on what does not."""

    state: SkillState
    findings: tuple[str, ...] = ()


def offered(capabilities: Json) -> bool:
    """Whether a server declares the extension; other servers are never asked for skills."""
    return isinstance(mapping(mapping(capabilities).get("extensions")).get(EXTENSION), dict)


def read_entry(server: str, raw: Json) -> Skill:
    """Read an entry of `skills/list` or `skills/get`; never raises: problems are in `errors` and `notes`."""
    entry = mapping(raw)
    uri, listed, frontmatter = entry.get("uri"), entry.get("resources"), mapping(entry.get("frontmatter"))
    address, name, about = (
        value if isinstance(value, str) else ""
        for value in (uri, frontmatter.get("name"), frontmatter.get("description"))
    )
    errors = list(_heading_errors(address, name, about))
    files: dict[str, SkillFile] = {}
    if isinstance(listed, list):
        errors += _read_files(cast("list[Json]", listed), address, files)
    elif listed != "dynamic":
        errors.append('Its resources are neither a list of files nor "dynamic".')
    found, notes = tuple(files.values()), _notes(name, mapping(frontmatter.get("metadata")), files.values())
    dynamic = listed == "dynamic"
    return Skill(server, address, name, about, entry, frontmatter, found, dynamic, tuple(errors[:_MOST]), tuple(notes))


def _heading_errors(uri: str, name: str, description: str) -> Iterator[str]:
    if not uri.endswith(_MAIN):
        yield f"Its uri does not end in {_MAIN}." if uri else "It has no uri."
    for key in [key for key, value in (("name", name), ("description", description)) if not value]:
        yield f"Its frontmatter has no {key}."
    folder = uri.removesuffix(_MAIN).rpartition("/")[2]
    if name and uri.endswith(_MAIN) and folder != name:
        yield f"Its name {name[:80]!r} is not that of its folder, {folder[:80]!r}."


def _read_files(listed: list[Json], main: str, found: dict[str, SkillFile]) -> Iterator[str]:
    """Add the files of an entry to `found`; yields what is wrong with them."""
    if len(listed) > _FILES:
        yield f"It lists more than {_FILES:,} files."
    for known in map(mapping, listed[:_FILES]):
        uri, digest, size = known.get("uri"), known.get("digest"), known.get("size")
        if not isinstance(uri, str) or not uri:
            yield "One of its files has no uri."
            continue
        short = uri[:120]
        if uri in found:
            yield f"{short} is listed twice."
        if uri != main and not uri.startswith(main.removesuffix("SKILL.md")):
            yield f"{short} is not in the skill's folder."
        if not isinstance(digest, str) or not re.fullmatch(_DIGEST, digest):
            yield f"The digest of {short} is not sha256: and 64 lower-case hexadecimal digits."
        if not isinstance(size, int) or isinstance(size, bool) or not 0 <= size < 1 << 63:
            yield f"The size of {short} is no number of bytes."
            size = -1
        found[uri] = SkillFile(uri, str(digest), size)
    if main and main not in found:
        yield "Its own SKILL.md is not among its files."


def _notes(name: str, metadata: dict[str, Json], files: Collection[SkillFile]) -> Iterator[str]:
    if name and not re.fullmatch(_NAME, name):
        yield "Its name is not made of up to 64 lower-case letters, digits and single hyphens."
    for key in [key for key in metadata if key.startswith(_RESERVED)][:_MOST]:
        yield f"Its metadata has {key[:80]!r}, which is reserved and means nothing yet."
    if len(files) > FILES:
        yield f"It has {len(files):,} files; not every host takes more than {FILES}."
    if (total := sum(max(file.size, 0) for file in files)) > BYTES:
        yield f"Its files have {total:,} bytes in all; not every host takes more than {BYTES:,}."


LONGEST = 64 * 1024
"""Characters of frontmatter that are read."""
_DEPTH = 20
_FENCED = r"(?sm)\ufeff?---[ \t]*\r?\n(.*?)(?:^|\r?\n)---[ \t]*(?:\r?\n|\Z)"


def parse(text: str) -> dict[str, Json]:
    """The frontmatter at the beginning of a file; all scalars are texts, which may mean numbers, booleans or null.

    Raises:
        ValueError: there is no frontmatter, or it cannot be read; the message continues a sentence about it.
    """
    found = re.match(_FENCED, text[: LONGEST + 100])
    if not found:
        longer = f", or it is longer than {LONGEST // 1024} KiB" if len(text) > LONGEST else ""
        raise ValueError(f"it does not begin with frontmatter between two lines of ---{longer}")
    # An empty line replaces the first fence, so that line numbers match the file.
    value = read_yaml(f"\n{found[1]}\n", plain=True, depth=_DEPTH) or {}
    if not isinstance(value, dict):
        raise ValueError("it is no mapping of names to values")
    return cast("dict[str, Json]", value)


def differences(written: Json, listed: Json) -> list[str]:
    """The differences between a file's frontmatter and the frontmatter in its entry, in words."""
    mine, other = dict(_leaves(written)), dict(_leaves(listed))
    found: list[str] = []
    for path in filter(None, dict.fromkeys((*mine, *other))):
        where = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in path).lstrip(".")
        if path not in other or path not in mine:
            there, missing = ("file", "entry") if path in mine else ("entry", "file")
            found.append(f"{where} is in the {there}, but not in the {missing}")
        elif not _same(mine[path], other[path]):
            found.append(f"{where} differs: {str(mine[path])!r:.60} in the file, {other[path]!r:.60} listed")
    return found


def _leaves(value: Json, path: tuple[str | int, ...] = ()) -> Iterator[tuple[tuple[str | int, ...], Json]]:
    """The scalars and empty containers of a value with their places; nesting beyond the limit counts as a leaf."""
    if not isinstance(value, dict | list) or not value or len(path) > _DEPTH:
        yield path, value
        return
    for key, item in value.items() if isinstance(value, dict) else enumerate(value):
        yield from _leaves(item, (*path, key))


def _same(written: Json, listed: Json) -> bool:
    """Whether a scalar of the file means the listed value; YAML versions differ in which words are more than text."""
    import yaml

    if not isinstance(written, str) or isinstance(listed, str | dict | list) or len(written) > 40:
        return written == listed
    try:
        value = yaml.safe_load(written)
        if listed is None or isinstance(listed, bool):
            return value is listed
        return not isinstance(value, bool) and (value == listed or float(written) == listed)
    except (yaml.YAMLError, ValueError, OverflowError):
        return False


def verify(skill: Skill, uri: str, result: Json) -> Verdict:
    """Compare the result of `resources/read` with a skill's entry (extension, Integrity and Verification)."""
    findings = [f"The skill's entry is invalid. {error}" for error in skill.errors]
    own = [item for item in map(mapping, items_of(mapping(result).get("contents"))) if item.get("uri") == uri]
    if len(own) != 1:
        why = f"The answer has {len(own)} contents for this address, where there should be one."
        return Verdict("refused", (*findings, why))
    text, blob = own[0].get("text"), own[0].get("blob")
    try:
        data = (
            text.encode("utf-8", "surrogatepass")
            if isinstance(text, str)
            else base64.b64decode(cast("str", blob), validate=True)
        )
    except (TypeError, ValueError):
        why = "Its content is not valid base64." if isinstance(blob, str) else "It has no content."
        return Verdict("refused", (*findings, why))
    findings += _mismatches(skill, uri, data)
    if findings:
        return Verdict("refused", tuple(findings[:_MOST]))
    return Verdict("unverifiable" if skill.dynamic else "verified")


def _mismatches(skill: Skill, uri: str, data: bytes) -> Iterator[str]:
    file = skill.file(uri)
    if file is None and not skill.dynamic:
        yield "The skill's entry does not list this file."
    elif file is not None and len(data) != file.size:
        yield f"It has {len(data):,} bytes, and its skill's entry says {file.size:,}."
    if file is not None and f"sha256:{hashlib.sha256(data).hexdigest()}" != file.digest:
        yield "Its content has another digest than its skill's entry says."
    if uri != skill.uri:
        return
    try:
        for one in differences(parse(data.decode("utf-8")), skill.frontmatter):
            yield f"Its frontmatter is not that of its entry: {one}."
    except UnicodeDecodeError:
        yield "Its SKILL.md is not UTF-8."
    except ValueError as problem:
        yield f"The frontmatter of its SKILL.md cannot be read: {problem}."
