"""`skills`: list what skills servers offer, or read one and say whether it is what the server listed."""

from __future__ import annotations

from mcp_studio.call.call import Succeeded
from mcp_studio.call.skills import WORDS, SkillReading
from mcp_studio.catalog.skills import Skill, offered
from mcp_studio.cli.engine import connected, end, execute
from mcp_studio.cli.output import Output
from mcp_studio.cli.targets import of_server
from mcp_studio.errors import StudioError, UsageError
from mcp_studio.jsontext import Json
from mcp_studio.present.blocks import resource_text
from mcp_studio.present.units import plural
from mcp_studio.safetext import safe
from mcp_studio.studio import Studio


def run(out: Output) -> int:
    """List or show, and return the exit code: 1 where a skill is not what its entry says."""
    chosen, server, words = of_server(out, 2)
    if words and not server:
        raise UsageError(f"Which server has the skill {words[0]}?", hint="mcp-studio skills SERVER SKILL")
    if words:
        return execute(chosen, out, lambda studio: _shown(studio, server, words[0], "".join(words[1:]), out))
    return execute(chosen, out, lambda studio: _listed(studio, server, out), answers=False)


async def _listed(studio: Studio, server: str, out: Output) -> int:
    found: list[Skill] = []
    for name in studio.manager.names():
        status = await connected(studio, name, out)
        if server or offered(status.capabilities):
            found += await studio.caller.skills.listed(name)
            if error := studio.catalog.skills.of(name).error:
                out.warn(f"{name}: {error}")
    return out.listing([_row(one) for one in found], [_json(one) for one in found], empty="No server lists skills.")


def _row(skill: Skill) -> tuple[str, ...]:
    about = safe(skill.description.strip().split("\n", 1)[0], 160)
    if wrong := (*skill.errors, *skill.notes):
        about = f"({wrong[0]}) {about}".rstrip()
    files = "made when read" if skill.dynamic else plural(len(skill.files), "file")
    return skill.server, skill.name or "(no name)", files, skill.uri or "(no uri)", about


def _json(skill: Skill) -> dict[str, Json]:
    problems: Json = [*skill.errors, *skill.notes]
    return {"server": skill.server, "name": skill.name, "uri": skill.uri, "problems": problems, "entry": skill.raw}


async def _shown(studio: Studio, server: str, skill: str, file: str, out: Output) -> int:
    await connected(studio, server, out)
    reading = await studio.skill(server, skill, file)
    if out.asker.refused or not isinstance(reading.outcome, Succeeded):
        return end(reading.outcome, out, resource_text)
    if not reading.usable:  # extension, Verification on Read: what does not match must not be used
        out.warn(*reading.verdict.findings)
        hint = "It was not printed; `mcp-studio read` prints it all the same."
        return out.fail(StudioError(f"{reading.uri} is not what its entry says.", hint=hint), _verdict(reading))
    out.note(*reading.skill.notes, f"{reading.uri} {WORDS[reading.verdict.state]}")
    result, out.ms = reading.outcome.result, reading.outcome.ms
    out.data(resource_text(result).removesuffix("\n"))
    return out.done({**_verdict(reading), "result": result})


def _verdict(reading: SkillReading) -> dict[str, Json]:
    state, findings = reading.verdict
    return {"uri": reading.uri, "state": state, "findings": [*findings], "skill": _json(reading.skill)}
