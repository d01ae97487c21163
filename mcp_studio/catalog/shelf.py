"""The skills that servers list, held beside their resources, and what reading them has shown."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import NamedTuple

from mcp_studio.catalog.fetch import Ask, fetch_all
from mcp_studio.catalog.listing import Entry
from mcp_studio.catalog.ref import Ref
from mcp_studio.catalog.skills import Skill, SkillState, Verdict, read_entry
from mcp_studio.jsontext import Json
from mcp_studio.limits import Limits
from mcp_studio.protocol.views import ResourceView

_UNREAD: SkillState = "unread"
_LARGE = 1_000
"""Skills and files of one list that are looked at without leaving the loop."""


class Skills(NamedTuple):
    """What one server lists."""

    skills: tuple[Skill, ...] = ()
    error: str = ""
    """Why the list could not be read, or read to its end."""


async def fetch_skills(server: str, ask: Ask, limits: Limits) -> Skills:
    """Ask for all pages of `skills/list`, but for none of the files (extension, Listing Skills, Lazy Retrieval)."""
    found = await fetch_all("skills/list", "skills", ask, limits)
    error = found.error or (f"The list of skills was {found.capped}." if found.capped else "")
    return Skills(tuple(await _read(server, found.items)), error)


async def _read(server: str, items: list[Json]) -> list[Skill]:
    """Entries of a list; one that says much is read in a thread."""

    def work() -> list[Skill]:
        return [read_entry(server, item) for item in items]

    files = sum(len(item.get("resources") or ()) for item in items if isinstance(item, dict) and _listing(item))
    return await asyncio.to_thread(work) if len(items) + files > _LARGE else work()


def _listing(item: dict[str, Json]) -> bool:
    return isinstance(item.get("resources"), list)


class Shelf:
    """All skills of all servers, as last listed."""

    def __init__(self) -> None:
        self._held: dict[str, Skills] = {}
        self._states: dict[tuple[str, str], tuple[Skill, SkillState]] = {}

    def put(self, server: str, skills: Skills) -> None:
        """Hold what a server lists now."""
        self._held[server] = skills

    def of(self, server: str) -> Skills:
        """What a server lists."""
        return self._held.get(server, Skills())

    def forget(self, server: str) -> None:
        """Drop what is known of a server's skills."""
        self._held.pop(server, None)
        self._states = {key: value for key, value in self._states.items() if key[0] != server}

    def owners(self, server: str, uri: str) -> tuple[Skill, ...]:
        """The skills that a file belongs to: nested skills share files with the one around them."""
        return tuple(skill for skill in self.of(server).skills if skill.holds(uri))

    def judged(self, skill: Skill, verdict: Verdict) -> None:
        """Note what reading a skill's `SKILL.md` has shown."""
        self._states[skill.server, skill.uri] = skill, verdict.state

    def state(self, skill: Skill) -> SkillState:
        """What is known of a skill; another entry than the one that was judged is unread again."""
        held, state = self._states.get((skill.server, skill.uri), (skill, _UNREAD))
        return state if held == skill else _UNREAD

    def with_skills(self, server: str, entries: Sequence[Entry]) -> tuple[Entry, ...]:
        """Resources of a server with its skills marked, and those added that it does not list as resources."""
        skills = self.of(server).skills
        known = {skill.uri: skill for skill in skills if skill.uri}
        resources = [entry for entry in entries if not entry.skill or entry.ref.name in known]
        listed = {entry.ref.name for entry in resources}
        marked = (
            entry._replace(skill=self.state(known[entry.ref.name])) if entry.ref.name in known else entry
            for entry in resources
        )
        return (*marked, *(self._entry(skill) for skill in skills if skill.uri not in listed))

    def _entry(self, skill: Skill) -> Entry:
        raw: dict[str, Json] = {
            "uri": skill.uri, "name": skill.name, "description": skill.description, "mimeType": "text/markdown",
        }  # fmt: skip
        problem = skill.errors[0] if skill.errors else ""
        return Entry(
            Ref("resource", skill.server, skill.uri), ResourceView(raw), problem=problem, skill=self.state(skill)
        )
