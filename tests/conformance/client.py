"""The client that the official conformance suite tries: the studio, with rules in the place of a person.

    python client.py URL

The suite says through `MCP_CONFORMANCE_…` variables which scenario and protocol version it plays, and hands over what
a person would have been told besides. All scenarios are played the same way: connect, sign in where that is asked for,
list, call every tool, read every resource, get every prompt. Exits with 0 when nothing of that was lost and no answer
was invalid; or, with the few servers that are not to be trusted, when it did not go on with them.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

from mcp_studio.call.call import Call, Cancelled, Lost, TimedOut
from mcp_studio.catalog.listing import KINDS, Entry, Ref
from mcp_studio.catalog.skills import Skill
from mcp_studio.config.model import AnswerRule, Config, ServerConfig, Settings
from mcp_studio.errors import StudioError
from mcp_studio.paths import Paths
from mcp_studio.protocol.versions import HANDSHAKE_VERSIONS
from mcp_studio.protocol.views import PromptView, ToolView
from mcp_studio.schema.field import Choice, Choices, Field, Flag, JsonField, List, Map, Number, Object, Union, defaults
from mcp_studio.schema.form import build
from mcp_studio.studio import Studio
from tests.conformance import signing

NAME = "server"
WELL = "ended well"
SCENARIO = os.environ.get("MCP_CONFORMANCE_SCENARIO", "")
VERSION = os.environ.get("MCP_CONFORMANCE_PROTOCOL_VERSION", "")
CONTEXT: dict[str, Any] = json.loads(os.environ.get("MCP_CONFORMANCE_CONTEXT") or "{}")
RULES = (AnswerRule("accept", kind="elicitation"),)
"""Forms are accepted as they come, with their defaults."""
LOADS_SKILLS = SCENARIO.startswith("sep-2640-client-verify")
"""Whether somebody wants the skills that are offered; otherwise none of their files is to be read."""
REFUSED = {
    *("auth/resource-mismatch", "auth/metadata-issuer-mismatch", "auth/scope-retry-limit"),
    *(f"auth/iss-{wrong}" for wrong in ("supported-missing", "wrong-issuer", "unexpected", "normalized")),
}
"""Scenarios whose servers are not to be trusted, or not to be satisfied: going on with them would be wrong."""
SCHEMA_OF = {"json_schema_echo": "json_schema_2020_12_tool"}
"""A tool that wants the input schema of another one as its argument `schema`."""


def configured(url: str) -> ServerConfig:
    """The server as a person would configure it who knows which version it speaks."""
    auth = signing.auth(SCENARIO, CONTEXT)
    if VERSION in HANDSHAKE_VERSIONS:
        return ServerConfig(NAME, url=url, era="legacy", protocol_version=VERSION, auth=auth)
    return ServerConfig(NAME, url=url, auth=auth)


def stub(field: Field) -> Any:
    """Something that fits a field."""
    match field:
        case Choice(options=options):
            return options[0].value
        case Choices(options=options, min_items=least):
            return [option.value for option in options[: max(least or 0, 1)]]
        case Flag():
            return True
        case Number(minimum=least):
            return least if least is not None else 1
        case List():
            return []
        case JsonField() | Object() | Map() | Union():
            return {}
        case _:
            return "x"


def filled(schema: Any) -> dict[str, Any]:
    """A value for a schema: the defaults, and stubs for what is required."""
    form = build(schema)
    return {field.name: stub(field) for field in form.fields if field.required} | defaults(form)


class Player:
    """Plays one scenario; `faults` says what went wrong."""

    def __init__(self, studio: Studio) -> None:
        self.studio = studio
        self.person = signing.Person(studio, NAME)
        self.faults: list[str] = []

    async def play(self) -> None:
        """Connect, list, and use all there is."""
        status = await self.studio.manager.settle(NAME)
        if status.state == "needs_auth":
            await self.person.sign_in()
            status = await self.studio.manager.settle(NAME)
        if status.state != "ready":
            raise status.error or StudioError(f"The server is {status.state}.")
        if VERSION and status.version != VERSION:
            self.faults.append(f"It speaks {status.version}, not {VERSION}.")
        await self.studio.manager.listed(NAME)
        catalog = self.studio.catalog
        self.faults += [f"{kind}s: {error}" for kind in KINDS if (error := catalog.listing(NAME, kind).error)]
        for wanted in CONTEXT.get("toolCalls", []):
            await self._call(Ref("tool", NAME, wanted["name"]), wanted.get("arguments", {}))
        if "toolCalls" not in CONTEXT:
            for entry in catalog.entries("tool"):
                await self._call(entry.ref, self._arguments(entry))
        for entry in catalog.entries("resource"):
            if not entry.skill:
                await self._end(self.studio.read_resource(NAME, entry.ref.name))
        if LOADS_SKILLS:
            for skill in await self.studio.caller.skills.listed(NAME):
                await self._load(skill)
        for entry in catalog.entries("prompt"):
            assert isinstance(entry.view, PromptView)
            await self._end(self.studio.get_prompt(entry.ref, {str(a.get("name")): "x" for a in entry.view.arguments}))

    def _arguments(self, entry: Entry) -> dict[str, Any]:
        assert isinstance(entry.view, ToolView)
        if other := SCHEMA_OF.get(entry.ref.name):
            (listed,) = self.studio.catalog.find(Ref("tool", NAME, other))
            assert isinstance(listed.view, ToolView)
            return {"schema": listed.view.input_schema}
        return filled(entry.view.input_schema)

    async def _load(self, skill: Skill) -> None:
        """Load a skill, and go on to its other files as long as nothing speaks against it."""
        for file in sorted((file.uri for file in skill.files), key=lambda uri: uri != skill.uri):
            reading = await self.studio.skill(NAME, skill.uri, file)
            print(file, reading.verdict, file=sys.stderr)
            if not reading.usable:
                return

    async def _call(self, ref: Ref, arguments: dict[str, Any]) -> None:
        await self._end(self.studio.call_tool(ref, arguments, approved=True))

    async def _end(self, call: Call) -> None:
        outcome = await call.wait()
        print(call.ref, outcome, file=sys.stderr)
        if isinstance(outcome, (Lost, TimedOut, Cancelled)) or outcome.problems:
            self.faults.append(f"{call.ref}: {outcome}")


async def main(url: str) -> int:
    """Play the scenario at a URL; returns the exit code."""
    server = configured(url)
    settings = Settings(answers=RULES, secrets="memory")
    with tempfile.TemporaryDirectory() as folder:
        paths = Paths(Path(folder, "config"), Path(folder, "state"), Path(folder, "cache"))
        async with Studio.open(Config(settings, {NAME: server}), paths, can_ask=True) as studio:
            player = Player(studio)
            try:
                await player.play()
            except StudioError as error:
                player.faults.append(f"{error.message} {error.hint}")
    for fault in player.faults:
        print("fault:", fault, file=sys.stderr)
    well = bool(player.faults) == (SCENARIO in REFUSED)
    if well:
        print(WELL)
    return 0 if well else 1


if __name__ == "__main__":
    sys.exit(asyncio.run(main(sys.argv[-1])))
