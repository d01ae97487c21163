"""What `replay` is about: which recording, which of its requests, and where they are sent."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple, cast

from mcp_studio.call.replay import plan as planning
from mcp_studio.call.replay.load import Recorded
from mcp_studio.call.replay.plan import Step
from mcp_studio.cli.asking import Asker
from mcp_studio.cli.options import Options
from mcp_studio.cli.plan import Plan, server_option
from mcp_studio.cli.targets import select
from mcp_studio.config.model import Config
from mcp_studio.errors import StudioError, UsageError
from mcp_studio.jsontext import Json
from mcp_studio.paths import Paths
from mcp_studio.redact import MARK
from mcp_studio.schema.place import Path, found, put
from mcp_studio.session.inbox import InputRequest
from mcp_studio.trace.diff_ignore import Ignore
from mcp_studio.trace.diff_text import path_text
from mcp_studio.trace.opening import open_recording
from mcp_studio.trace.query.parser import parse
from mcp_studio.trace.query.select import select as chosen

if TYPE_CHECKING:
    from mcp_studio.studio import Studio
    from mcp_studio.trace.recording import Recording

_REFERENCE = re.compile(r"\$\{(\w+)\}")


class Replay(NamedTuple):
    """What is sent again."""

    recording: Recording
    plan: planning.Plan
    servers: Mapping[str, str]
    """Where what went to a server is sent."""
    ignore: Ignore


def planned(options: Options, config: Config) -> Plan:
    """Read the words of `replay`.

    Raises:
        StudioError: there is no such recording, the query is none, or it is not clear where to send something.
    """
    if not options.words:
        raise UsageError("Which recording?", hint="mcp-studio replay SESSION|FILE [QUERY]")
    ignore = Ignore(options.values("--ignore"), usual=not options.flag("--strict"))
    query = parse(" ".join(options.words[1:]))
    recording = open_recording(options.words[0], Paths.default().state / "trace")
    numbers = chosen(recording, query) if len(options.words) > 1 else None
    plan = planning.plan(recording.columns, numbers)
    if not plan.steps:
        raise UsageError(_nothing(plan, options.words[1:]))
    servers = _servers(options, config, plan.servers)
    target = select(config, list(dict.fromkeys(servers.values())))
    name = next(iter(target.servers)) if len(target.servers) == 1 else ""
    return Plan(target, name, options.words[0], replay=Replay(recording, plan, servers, ignore))


def _nothing(plan: planning.Plan, query: list[str]) -> str:
    why = "; ".join(f"{one.method} {one.reason}" for one in plan.left_out[:5])
    what = "The query chooses" if query else "The recording has"
    return f"{what} nothing that can be sent again{f' ({why})' if why else ''}."


def _servers(options: Options, config: Config, recorded: tuple[str, ...]) -> dict[str, str]:
    given = server_option(options)
    if not given and (options.command is not None or options.value("--url")):
        given = next(iter(config.servers))
    if given:
        if len(recorded) > 1:
            hint = f"Choose one with a query: server:{recorded[0]}"
            raise UsageError(f"Requests to {len(recorded)} servers cannot go to one: {', '.join(recorded)}.", hint=hint)
        return dict.fromkeys(recorded, given)
    for name in recorded:
        if name not in config.servers:
            hint = "--server NAME, --url URL or -- COMMAND ARGS… says where to send them."
            raise UsageError(f"Requests went to `{name}`, which is not configured here.", hint=hint)
    return {name: name for name in recorded}


class Filling:
    """Puts secrets in the places where the recording has none: those of `--set`, else those that a person types.

    Raises:
        UsageError: an option is not of the form FIELD=VALUE, or names a variable that is not set.
    """

    def __init__(self, studio: Studio, pairs: list[str], asker: Asker) -> None:
        self._studio = studio
        self._asker = asker
        self._known: dict[str, str] = {}
        for pair in pairs:
            name, sign, value = pair.partition("=")
            if not sign or not name:
                raise UsageError(f"--set: `{pair}` is not of the form FIELD=VALUE.")
            self._keep(name, _REFERENCE.sub(_variable, value))

    async def fill(self, step: Step, recorded: Recorded) -> dict[str, Json] | None:
        """The params with everything filled in; None where something is missing."""
        value: Json = recorded.params
        for place in recorded.hidden:
            text = found(value, place)
            secret = await self._secret(step, place) if isinstance(text, str) else None
            if secret is None:
                return None
            value = put(value, place, cast("str", text).replace(MARK, secret))
        return cast("dict[str, Json]", value)

    async def _secret(self, step: Step, place: Path) -> str | None:
        whole, last = path_text(place), str(place[-1]) if place else ""
        for name in (whole, whole.removeprefix("arguments."), last):
            if name in self._known:
                return self._known[name]
        if not self._asker.present:
            return None
        schema: Json = {
            "type": "object", "properties": {last: {"type": "string", "format": "password"}}, "required": [last],
        }  # fmt: skip
        asked = InputRequest("elicitation", step.server, f"{step.subject} needs {whole}", schema=schema)
        content = await self._asker.fill(asked)
        if not isinstance(content, dict) or not isinstance(secret := content.get(last), str):
            return None
        self._keep(whole, secret)
        return secret

    def _keep(self, name: str, secret: str) -> None:
        self._known[name] = secret
        self._studio.manager.learn(secret)


def _variable(reference: re.Match[str]) -> str:
    value = os.environ.get(reference[1])
    if value is None:
        raise StudioError(f"--set: the environment has no {reference[1]}.")
    return value
