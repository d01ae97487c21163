"""Skills (extension `io.modelcontextprotocol/skills`): entries of `skills/list`, and whether a file is what they say.

A skill is a `SKILL.md` and its files, each an ordinary resource. An entry lists them all with digest and size, and
repeats the frontmatter of `SKILL.md`. Nothing is read before somebody asks for it, and what does not match its entry
is not used. A match proves that entry and file come from the same hand, not that the hand is to be trusted.
"""

from __future__ import annotations

import re
from typing import Literal, NamedTuple, cast

from mcp_studio.jsontext import Json, mapping

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
    known = mapping(capabilities)
    extensions = known.get("extensions")
    return isinstance(extensions, dict) and isinstance(cast("dict[str, Json]", extensions).get(EXTENSION), dict)


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
