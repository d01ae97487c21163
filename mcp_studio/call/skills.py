"""Skills on demand: files are compared with their entry, and a skill is loaded as a host loads it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import NamedTuple

from mcp_studio.call.call import Call, CallOutcome, Succeeded
from mcp_studio.catalog.catalog import Catalog, suggestion
from mcp_studio.catalog.skills import Skill, SkillState, Verdict, offered, read_entry, verify
from mcp_studio.errors import ProtocolError, UsageError
from mcp_studio.jsontext import mapping
from mcp_studio.protocol.events import Answered
from mcp_studio.protocol.message import whole
from mcp_studio.session.manager import ConnectionManager

WORDS: dict[SkillState, str] = {
    "verified": "is what its entry says: size and digest",
    "unverifiable": "cannot be verified, for the server makes its files as they are read",
}


class SkillReading(NamedTuple):
    """A file of a skill, compared with the skill's entry; not to be used unless `usable`."""

    skill: Skill
    uri: str
    outcome: CallOutcome
    verdict: Verdict

    @property
    def usable(self) -> bool:
        """Whether the file was read and matches its entry."""
        return isinstance(self.outcome, Succeeded) and self.verdict.state in ("verified", "unverifiable")


class SkillReader:
    """Loads skills, and judges their files."""

    def __init__(self, manager: ConnectionManager, catalog: Catalog) -> None:
        self._manager = manager
        self._catalog = catalog

    async def listed(self, server: str) -> tuple[Skill, ...]:
        """The skills that a server lists, in its order; reads none of their files.

        Raises:
            UsageError: the server offers no skills, or there is no such server.
            StudioError: the server is not connected, or its list cannot be read.
        """
        await self._manager.listed(server)
        self._manager.connection(server)
        if not offered(self._manager.status(server).capabilities):
            raise UsageError(f"{server} does not offer skills.")
        held = self._catalog.skills.of(server)
        if held.error and not held.skills:
            raise ProtocolError(held.error)
        return held.skills

    async def find(self, server: str, which: str) -> Skill:
        """The skill of a name, or at an address, which may be unlisted.

        Raises:
            UsageError: there is no such skill, or several have the name.
            StudioError: see `listed`.
        """
        skills = await self.listed(server)
        found = [skill for skill in skills if which in (skill.uri, skill.name)]
        if len(found) == 1:
            return found[0]
        if found:
            several = f"{server} has {len(found)} skills {which!r}: {', '.join(skill.uri for skill in found)}."
            raise UsageError(several, hint="Name it by its address.")
        if "://" not in which:
            near = suggestion(which, [skill.name for skill in skills if skill.name])
            raise UsageError(f"{server} lists no skill {which!r}.{near}", hint="One that is not listed has an address.")
        event = (await self._manager.connection(server).request("skills/get", {"uri": which})).event
        if not isinstance(event, Answered):
            raise UsageError(f"{server} has no skill at {which}: {event.text}.")
        skill = read_entry(server, mapping(event.result).get("skill"))
        if skill.uri != which:
            raise ProtocolError(f"The answer to skills/get is not about {which}.")
        return skill

    async def load(self, server: str, which: str, file: str, read: Callable[[str, str], Call]) -> SkillReading:
        """Read `SKILL.md` or another file of a skill, and compare it; `file` is an address, or a path in the skill.

        Raises:
            UsageError: there is no such skill, or the skill has no such file.
            StudioError: see `listed`.
        """
        skill = await self.find(server, which)
        uri = skill.uri
        if file:
            uri = file if "://" in file else f"{skill.uri.removesuffix('SKILL.md')}{file.removeprefix('./')}"
            if not skill.dynamic and skill.file(uri) is None:
                # Extension, The Acting Window: an unlisted file is as bad as a wrong digest.
                raise UsageError(f"The skill {skill.name or skill.uri} lists no file {uri}.")
        outcome = await read(server, uri).wait()
        verdict = await self._judge(skill, uri, outcome) if isinstance(outcome, Succeeded) else Verdict("refused")
        return SkillReading(skill, uri, outcome, verdict)

    async def judge(self, call: Call, outcome: CallOutcome) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Problems and notes on the result of a call that read a file of a skill."""
        if call.method != "resources/read" or not isinstance(outcome, Succeeded):
            return (), ()
        problems, notes = list[str](), list[str]()
        held = self._catalog.skills.of(call.ref.server).skills
        for skill in [skill for skill in held if skill.holds(call.ref.name)]:  # nested skills share files
            verdict = await self._judge(skill, call.ref.name, outcome)
            name = f"skill {skill.name or skill.uri}"
            problems += [f"{name}: {finding}" for finding in verdict.findings]
            if words := WORDS.get(verdict.state):
                more = ", and frontmatter" if skill.uri == call.ref.name and verdict.state == "verified" else ""
                notes.append(f"{name}: this file {words}{more}")
        return tuple(problems), tuple(notes)

    async def _judge(self, skill: Skill, uri: str, outcome: Succeeded) -> Verdict:
        verdict = await asyncio.to_thread(verify, skill, uri, whole(outcome.result))
        if uri == skill.uri:
            self._catalog.judged(skill, verdict)
        return verdict
