"""What `run`, `worker` and `workflow` do, for the command line: it has the words and prints, the plan is ours."""

from __future__ import annotations

import asyncio
import socket
import time
from collections.abc import Sequence
from functools import partial
from os import urandom
from pathlib import Path
from typing import Protocol

from mcp_studio.errors import InputNeeded, StudioError, UsageError
from mcp_studio.jsontext import Json, mapping, pretty, printable
from mcp_studio.paths import Paths, read_object
from mcp_studio.present.differences import difference_line
from mcp_studio.present.units import duration, plural
from mcp_studio.redact import Redactor
from mcp_studio.schema.form import build
from mcp_studio.schema.text import set_pair
from mcp_studio.studio import Studio
from mcp_studio.trace.diff import Difference, Ignore, diff
from mcp_studio.workflow.check import check, check_names, planned
from mcp_studio.workflow.durable import DurableRuns, sqlite_address
from mcp_studio.workflow.model import Workflow, schema
from mcp_studio.workflow.records import Report, RunStore
from mcp_studio.workflow.run import ENDED, Run, StepRun

_MARKS = {"done": "✓", "failed": "✗", "skipped": "–", "cancelled": "–"}
_CHECK = "mcp-studio workflow check FILE|schema|runs|show RUN|diff RUN RUN"


class Words(Protocol):
    """The verb, its words and its options."""

    verb: str
    words: list[str]

    def flag(self, name: str) -> bool:
        """Whether an option was given."""
        ...

    def value(self, name: str) -> str:
        """Its value, or nothing."""
        ...

    def values(self, name: str) -> list[str]:
        """All its values."""
        ...

    def object(self, name: str) -> dict[str, Json]:
        """Its value as a JSON object."""
        ...


class Teller(Protocol):
    """Who prints, and gives exit codes."""

    more: dict[str, Json]

    def data(self, *texts: object) -> None:
        """Print lines of data."""
        ...

    def note(self, *texts: object) -> None:
        """Print lines of narration."""
        ...

    def listing(self, rows: Sequence[Sequence[str]], facts: Json, *, empty: str) -> int:
        """Print a table."""
        ...

    def done(self, result: Json = None) -> int:
        """End well."""
        ...

    def fail(self, error: StudioError, detail: dict[str, Json] | None = None) -> int:
        """End with an error."""
        ...


class Program:
    """One command.

    Raises:
        StudioError: its file cannot be read.
    """

    def __init__(self, options: Words, out: Teller) -> None:
        self._options, self._out = options, out
        self._workflow: Workflow | None = None
        words = options.words
        self.connects = options.verb != "workflow" or (words[:1] == ["check"] and not options.flag("--offline"))
        if options.verb == "run" and not options.flag("--resume"):
            if not words:
                raise UsageError("Which workflow?", hint="mcp-studio run FILE [key=value…]")
            self._workflow = Workflow.load(words[0])
        elif words[:1] == ["check"] and len(words) == 2:
            self._workflow = Workflow.load(words[1])

    @property
    def servers(self) -> set[str]:
        """What the workflow calls the servers of its tools."""
        return self._workflow.servers if self._workflow else {""}

    async def run(self, studio: Studio) -> int:
        """Do it, and give the exit code."""
        if self._options.verb == "workflow":
            if self._options.words[0] == "check" and self._workflow:
                return await self._check(studio, self._workflow)
            return self._kept(studio.redactor)
        if self._workflow is None:
            return await self._durable(studio, None, {})
        return await self._run(studio, self._workflow)

    async def _check(self, studio: Studio, workflow: Workflow) -> int:
        found = await check(workflow, studio) if self.connects else [*workflow.problems, *check_names(workflow)]
        self._out.data(*(f"{one.severity}: {one}" for one in found))
        facts: Json = [one._asdict() for one in found]
        if wrong := sum(one.severity == "error" for one in found):
            return self._out.fail(StudioError(f"{plural(wrong, 'error')} in {workflow.file}."), {"result": facts})
        self._out.note("it can run")
        return self._out.done(facts)

    def _kept(self, redactor: Redactor) -> int:
        """The schema, and runs that are kept."""
        out, store = self._out, RunStore(Paths.default().state / "runs", redactor)
        match self._options.words:
            case ["schema"]:
                return self._output(schema())
            case ["runs"]:
                found = [{**one, "steps": len(one["steps"])} for one in store.all()]
                keys = ("id", "began", "workflow", "state", "error")
                rows = [tuple(_cell(one.get(key)) for key in keys) for one in found]
                return out.listing(rows, found, empty="no runs")
            case ["show", identity]:
                return self._output(store.find(identity))
            case ["diff", before, after]:
                return self._differences(diff(store.find(before).get("steps"), store.find(after).get("steps")))
            case _:
                raise UsageError("What of workflows?", hint=_CHECK)

    async def _run(self, studio: Studio, workflow: Workflow) -> int:
        options, out, store = self._options, self._out, RunStore(studio.paths.state / "runs", studio.redactor)
        start = options.value("--from")
        earlier = store.find(options.value("--after") or "last") if start else None
        inputs, approved = self._inputs(workflow), options.flag("--yes")
        run = Run(workflow, studio, inputs, approved=approved, earlier=earlier, start=start)
        if options.flag("--dry-run"):
            calls = planned(workflow, studio, run.inputs)
            rows = [(one.path, one.tool, printable(one.arguments, indent=None), one.only_if) for one in calls]
            return out.listing(rows, [one._asdict() for one in calls], empty="It makes no calls.")
        if options.flag("--durable"):
            return await self._durable(studio, workflow, run.inputs)
        report = Report(run)
        run.changed.connect(partial(self._narrate, run))
        await store.follow(run)
        out.more["run"] = run.id
        if file := options.value("--junit"):
            report.junit(Path(file))
        if file := options.value("--record"):
            report.record(Path(file))
        if why := run.why:
            why.hint = "--yes approves what would be asked about." if isinstance(run.error, InputNeeded) else why.hint
            return out.fail(why)
        if file := options.value("--compare"):
            ignore = Ignore(options.values("--ignore"), usual=not options.flag("--strict"))
            return self._differences(report.compare(read_object(Path(file)), ignore))
        return self._output(run.output)

    def _inputs(self, workflow: Workflow) -> dict[str, Json]:
        """The inputs of the words.

        Raises:
            UsageError: some of them mean nothing.
        """
        form, value = build(workflow.inputs or {"type": "object"}), self._options.object("--args")
        for pair in self._options.words[1:]:
            try:
                value = mapping(set_pair(form, value, pair))
            except ValueError as problem:
                raise UsageError(f"The inputs cannot be read: {problem}.".replace("?.", "?")) from None
        return value

    async def _durable(self, studio: Studio, workflow: Workflow | None, inputs: dict[str, Json]) -> int:
        options, out, works = self._options, self._out, self._options.verb == "worker"
        name = options.value("--name") or socket.gethostname() if works else ""
        database = options.value("--database") or sqlite_address(studio.paths.state / "workflows.sqlite")
        async with DurableRuns(studio, database, name, approved=options.flag("--yes")) as runs:
            runs.begun.connect(lambda run: run.changed.connect(partial(self._narrate, run)) and None)
            if works:
                out.note(f"{name} works on what is queued, until Ctrl-C")
                await asyncio.Event().wait()
            if workflow is None:
                out.more["run"] = options.value("--resume")
                return self._output(await runs.resume(options.value("--resume")))
            if options.flag("--schedule"):
                await runs.schedule(workflow, cron := options.value("--schedule"), inputs)
                out.note("`mcp-studio worker` runs it at these times" if cron else "it is no more scheduled")
                return out.done()
            identity = out.more["run"] = urandom(6).hex()
            out.note(f"`mcp-studio run --resume {identity}` goes on with it where it is interrupted")
            return self._output(await runs.run(workflow, inputs, identity))

    def _narrate(self, run: Run, node: StepRun) -> None:
        if node in run.root.children and node.state in ENDED:
            took = duration(node.ms) if node.began else ""
            self._out.note(f"{_MARKS[node.state]} {node.path}  {took}  {node.line}".rstrip())

    def _output(self, value: Json) -> int:
        self._out.data(value if isinstance(value, str) else pretty(value))
        return self._out.done(value)

    def _differences(self, found: tuple[Difference, ...]) -> int:
        self._out.data(*map(difference_line, found))
        facts: Json = [one.as_json() for one in found]
        if found:
            return self._out.fail(StudioError(f"{plural(len(found), 'difference')}."), {"result": facts})
        self._out.note("the same")
        return self._out.done(facts)


def _cell(value: Json) -> str:
    """A value of a table: numbers are moments."""
    if isinstance(value, float):
        return time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(value))
    return "" if value is None else str(value)
