"""Skills (extension `io.modelcontextprotocol/skills`): entries of `skills/list`, and whether a file is what they say.

A skill is a `SKILL.md` and its files, each an ordinary resource. An entry lists them all with digest and size, and
repeats the frontmatter of `SKILL.md`. Nothing is read before somebody asks for it, and what does not match its entry
is not used. A match proves that entry and file come from the same hand, not that the hand is to be trusted.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import re
from typing import Literal, NamedTuple, cast

from mcp_studio.config.table import read_yaml
from mcp_studio.jsontext import Json, items_of, mapping

EXTENSION = "io.modelcontextprotocol/skills"
FILES = 512
"""Files of one skill that every host takes; more are noted."""
BYTES = 16 * 1024 * 1024
"""Bytes of all files of one skill that every host takes; more are noted."""
SkillState = Literal["", "unread", "verified", "unverifiable", "refused"]
"""No skill; not read yet; as its entry says; without digests to compare with; not as its entry says."""

_MAIN = "/SKILL.md"
# Patterns as texts: they are compiled for the first skill, not at every start.
_NAME = r"(?!.*--)[a-z0-9]([a-z0-9-]{0,62}[a-z0-9])?"
_DIGEST = r"sha256:[0-9a-f]{64}"
_RESERVED = "io.modelcontextprotocol/"
_MOST = 10
_FILES = 10_000
"""Files of one skill that are looked at."""


class SkillFile(NamedTuple):
    """One file of a skill, as its entry lists it."""

    uri: str
    digest: str
    """`sha256:` and 64 hexadecimal digits."""
    size: int
    """Bytes."""


class Skill(NamedTuple):
    """The entry of one skill; `server` and `uri` together say which it is, names may be shared."""

    server: str
    uri: str
    """Where its `SKILL.md` is."""
    raw: dict[str, Json]
    frontmatter: dict[str, Json]
    files: tuple[SkillFile, ...]
    dynamic: bool
    """Its files are made as they are read, so that nothing can be compared."""
    errors: tuple[str, ...]
    """Why the entry is invalid and the skill must not be used, in sentences."""
    notes: tuple[str, ...] = ()
    """What is wrong with it, or unusual, and does no harm."""

    @property
    def name(self) -> str:
        """Its name, as the entry says."""
        name = self.frontmatter.get("name")
        return name if isinstance(name, str) else ""

    @property
    def description(self) -> str:
        """What it is for, as the entry says."""
        text = self.frontmatter.get("description")
        return text if isinstance(text, str) else ""

    def file(self, uri: str) -> SkillFile | None:
        """The file at an address, where the entry lists it."""
        return next((file for file in self.files if file.uri == uri), None)

    def holds(self, uri: str) -> bool:
        """Whether an address is that of `SKILL.md` or lies in the skill's folder."""
        return bool(self.uri) and (uri == self.uri or uri.startswith(self.uri.removesuffix("SKILL.md")))


class Verdict(NamedTuple):
    """Whether content is what an entry says, and what speaks against it, in sentences."""

    state: SkillState
    findings: tuple[str, ...] = ()


def offered(capabilities: Json) -> bool:
    """Whether a server declares the extension; nothing is asked of one that does not."""
    return isinstance(mapping(mapping(capabilities).get("extensions")).get(EXTENSION), dict)


def read_entry(server: str, raw: Json) -> Skill:
    """An entry of `skills/list` or `skills/get`; never raises, what is wrong is in `errors` and `notes`."""
    entry = mapping(raw)
    uri, front, listed = entry.get("uri"), entry.get("frontmatter"), entry.get("resources")
    address = uri if isinstance(uri, str) else ""
    frontmatter = mapping(front)
    errors = _heading_errors(address, frontmatter)
    files: tuple[SkillFile, ...] = ()
    if isinstance(listed, list):
        files, wrong = _files(cast("list[Json]", listed), address)
        errors += wrong
    elif listed != "dynamic":
        errors.append('Its resources are neither a list of files nor "dynamic".')
    notes = _notes(frontmatter, files)
    return Skill(server, address, entry, frontmatter, files, listed == "dynamic", tuple(errors[:_MOST]), tuple(notes))


def _heading_errors(uri: str, frontmatter: dict[str, Json]) -> list[str]:
    errors: list[str] = []
    name = frontmatter.get("name")
    if not uri:
        errors.append("It has no uri.")
    elif not uri.endswith(_MAIN):
        errors.append(f"Its uri does not end in {_MAIN}.")
    for key in ("name", "description"):
        if not isinstance(value := frontmatter.get(key), str) or not value:
            errors.append(f"Its frontmatter has no {key}.")
    if isinstance(name, str) and uri.endswith(_MAIN):
        folder = uri.removesuffix(_MAIN).rpartition("/")[2]
        if folder != name:
            errors.append(f"Its name {name[:80]!r} is not that of its folder, {folder[:80]!r}.")
    return errors


def _files(listed: list[Json], main: str) -> tuple[tuple[SkillFile, ...], list[str]]:
    errors: list[str] = []
    found: dict[str, SkillFile] = {}
    folder = main.removesuffix("SKILL.md")
    if len(listed) > _FILES:
        errors.append(f"It lists more than {_FILES:,} files.")
    for item in listed[:_FILES]:
        known = mapping(item)
        uri, digest, size = known.get("uri"), known.get("digest"), known.get("size")
        if not isinstance(uri, str) or not uri:
            errors.append("One of its files has no uri.")
            continue
        short = uri[:120]
        if uri in found:
            errors.append(f"{short} is listed twice.")
        if uri != main and not uri.startswith(folder):
            errors.append(f"{short} is not in the skill's folder.")
        if not isinstance(digest, str) or not re.fullmatch(_DIGEST, digest):
            errors.append(f"The digest of {short} is not sha256: and 64 lower-case hexadecimal digits.")
            digest = ""
        if not isinstance(size, int) or isinstance(size, bool) or not 0 <= size < 1 << 63:
            errors.append(f"The size of {short} is no number of bytes.")
            size = -1
        found[uri] = SkillFile(uri, digest, size)
    if main and main not in found:
        errors.append("Its own SKILL.md is not among its files.")
    return tuple(found.values()), errors


def _notes(frontmatter: dict[str, Json], files: tuple[SkillFile, ...]) -> list[str]:
    notes: list[str] = []
    name, metadata = frontmatter.get("name"), frontmatter.get("metadata")
    if isinstance(name, str) and name and not re.fullmatch(_NAME, name):
        notes.append("Its name is not made of up to 64 lower-case letters, digits and single hyphens.")
    if isinstance(metadata, dict):
        reserved = [key for key in cast("dict[str, Json]", metadata) if key.startswith(_RESERVED)]
        notes += [
            f"Its metadata has {key[:80]!r}, which is reserved and means nothing yet." for key in reserved[:_MOST]
        ]
    if len(files) > FILES:
        notes.append(f"It has {len(files):,} files; not every host takes more than {FILES}.")
    if (total := sum(max(file.size, 0) for file in files)) > BYTES:
        notes.append(f"Its files have {total:,} bytes in all; not every host takes more than {BYTES:,}.")
    return notes


LONGEST = 64 * 1024
"""Characters of frontmatter that are read."""
_DEPTH = 20
_FENCED = re.compile(r"\ufeff?---[ \t]*\r?\n(.*?)(?:^|\r?\n)---[ \t]*(?:\r?\n|\Z)", re.DOTALL | re.MULTILINE)


def parse(text: str) -> dict[str, Json]:
    """The frontmatter at the beginning of a file; all scalars are texts, which may mean numbers, true or nothing.

    Raises:
        ValueError: there is none, or it cannot be read; says why, as the rest of a sentence about it.
    """
    found = _FENCED.match(text[: LONGEST + 100])
    if not found:
        longer = f", or it is longer than {LONGEST // 1024} KiB" if len(text) > LONGEST else ""
        raise ValueError(f"it does not begin with frontmatter between two lines of ---{longer}")
    # An empty line stands for the first fence, so that lines are counted as in the file.
    value = read_yaml(f"\n{found[1]}\n", plain=True, depth=_DEPTH) or {}
    if not isinstance(value, dict):
        raise ValueError("it is no mapping of names to values")
    return cast("dict[str, Json]", value)


def differences(written: Json, listed: Json, where: str = "") -> list[str]:
    """Where a file's frontmatter and the one of its entry differ, in words."""
    if isinstance(written, dict) and isinstance(listed, dict):
        mine, other = cast("dict[str, Json]", written), cast("dict[str, Json]", listed)
        found = [f"{_name(where, key)} is in the file, but not in the entry" for key in mine if key not in other]
        found += [f"{_name(where, key)} is in the entry, but not in the file" for key in other if key not in mine]
        both = [key for key in mine if key in other]
        return found + [one for key in both for one in differences(mine[key], other[key], _name(where, key))]
    if isinstance(written, list) and isinstance(listed, list):
        pairs = list(zip(cast("list[Json]", written), cast("list[Json]", listed), strict=False))
        if not len(pairs) == len(written) == len(listed):
            return [f"{where} has {len(written)} items in the file, and {len(listed)} in the entry"]
        return [one for at, pair in enumerate(pairs) for one in differences(*pair, f"{where}[{at}]")]
    if _same(written, listed):
        return []
    return [f"{where} differs: {_short(written)} in the file, {_short(listed)} listed"]


def _same(written: Json, listed: Json) -> bool:
    """Whether a scalar is the value that was listed; versions of YAML disagree about which words are more than text."""
    import yaml

    if not isinstance(written, str) or isinstance(listed, str | dict | list):
        return written == listed
    if len(written) > 40:
        return False
    try:
        meant = yaml.safe_load(written)
        if listed is None or isinstance(listed, bool):
            return meant is listed
        return not isinstance(meant, bool) and (meant == listed or float(written) == listed)
    except (yaml.YAMLError, ValueError, OverflowError):
        return False


def _name(where: str, key: str) -> str:
    return f"{where}.{key}" if where else key


def _short(value: object) -> str:
    text = repr(str(value)) if isinstance(value, str) else str(value)
    return text if len(text) <= 60 else text[:59] + "…"


def verify(skill: Skill, uri: str, result: Json) -> Verdict:
    """Compare the result of `resources/read` with a skill's entry (extension, Integrity and Verification)."""
    findings = [f"The skill's entry is invalid. {error}" for error in skill.errors]
    data, problem = _bytes(uri, result)
    if data is None:
        return Verdict("refused", (*findings, problem))
    file = skill.file(uri)
    if not skill.dynamic:
        findings += _mismatches(file, data) if file else ["The skill's entry does not list this file."]
    if uri == skill.uri:
        findings += _frontmatter_problems(skill, data)
    if findings:
        return Verdict("refused", tuple(findings[:_MOST]))
    if skill.dynamic:
        return Verdict("unverifiable")
    return Verdict("verified")


def _mismatches(file: SkillFile, data: bytes) -> list[str]:
    found: list[str] = []
    if len(data) != file.size:
        found.append(f"It has {len(data):,} bytes, and its skill's entry says {file.size:,}.")
    if f"sha256:{hashlib.sha256(data).hexdigest()}" != file.digest:
        found.append("Its content has another digest than its skill's entry says.")
    return found


def _frontmatter_problems(skill: Skill, data: bytes) -> list[str]:
    try:
        written = parse(data.decode("utf-8"))
    except UnicodeDecodeError:
        return ["Its SKILL.md is not UTF-8."]
    except ValueError as problem:
        return [f"The frontmatter of its SKILL.md cannot be read: {problem}."]
    return [f"Its frontmatter is not that of its entry: {one}." for one in differences(written, skill.frontmatter)]


def _bytes(uri: str, result: Json) -> tuple[bytes | None, str]:
    """The bytes that a result has for an address, or why there are none."""
    own = [item for item in map(mapping, items_of(mapping(result).get("contents"))) if item.get("uri") == uri]
    if len(own) != 1:
        return None, f"The answer has {len(own)} contents for this address, where there should be one."
    text, blob = own[0].get("text"), own[0].get("blob")
    if isinstance(text, str):
        return text.encode("utf-8", "surrogatepass"), ""
    try:
        return (base64.b64decode(blob, validate=True), "") if isinstance(blob, str) else (None, "It has no content.")
    except (binascii.Error, ValueError):
        return None, "Its content is not valid base64."
