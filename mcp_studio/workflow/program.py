"""The verbs `run`, `worker` and `workflow`: the command line parses and prints, this module does the work."""

from __future__ import annotations

import asyncio
import socket
import time
from collections.abc import Awaitable, Mapping, Sequence
from functools import partial
from os import urandom
from pathlib import Path
from typing import Protocol

from mcp_studio.errors import InputNeeded, StudioError, UsageError
from mcp_studio.jsontext import Json, mapping, pretty, printable
from mcp_studio.paths import Paths
from mcp_studio.present.accounts import moment
from mcp_studio.present.trace import difference_line
from mcp_studio.present.units import duration, plural
from mcp_studio.redact import Redactor
from mcp_studio.schema.form import build
from mcp_studio.schema.text import set_pair
from mcp_studio.studio import Studio
from mcp_studio.trace.diff import Difference, Ignore, diff
from mcp_studio.workflow.check import check, check_names, planned
from mcp_studio.workflow.durable import DurableRuns, sqlite_address
from mcp_studio.workflow.model import Workflow, schema
from mcp_studio.workflow.records import Report, RunStore, read_snapshot
from mcp_studio.workflow.run import ENDED, Run, StepRun

_MARKS = {"done": "✓", "failed": "✗", "skipped": "–", "cancelled": "–"}
_CHECK = "mcp-studio workflow check FILE|schema|runs|show RUN|diff RUN RUN"


class Output(Protocol):
    """Prints, and returns exit codes."""

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
        """End successfully."""
        ...

    def fail(self, error: StudioError, detail: dict[str, Json] | None = None) -> int:
        """End with an error."""
        ...


class Program:
    """One command.

    Args:
        options: the values of each option that is present.
        inputs: the inputs of `--args`.

    Raises:
        StudioError: the workflow's file cannot be read.
    """

    def __init__(
        self, verb: str, words: list[str], options: Mapping[str, list[str]], inputs: dict[str, Json], out: Output
    ) -> None:
        self._verb, self._words, self._options, self._inputs, self._out = verb, words, options, inputs, out
        self._workflow: Workflow | None = None
        self._snapshot: dict[str, Json] | None = None
        """The snapshot that the run is compared with."""
        self.connects = verb != "workflow" or (words[:1] == ["check"] and "--offline" not in options)
        if verb == "run" and "--resume" not in options:
            if not words:
                raise UsageError("Which workflow?", hint="mcp-studio run FILE [key=value…]")
            self._workflow = Workflow.load(words[0])
        elif words[:1] == ["check"] and len(words) == 2:
            self._workflow = Workflow.load(words[1])

    @property
    def servers(self) -> set[str]:
        """The names that the workflow uses for its tools' servers."""
        return self._workflow.servers if self._workflow else {""}

    async def run(self, studio: Studio) -> int:
        """Run the command, and return its exit code."""
        if self._verb == "workflow":
            return await self._check(studio, self._workflow) if self._workflow else self._show(studio.redactor)
        if file := self._value("--compare"):
            self._snapshot = read_snapshot(Path(file))
        return await (self._run(studio, self._workflow) if self._workflow else self._durable(studio, None, {}))

    async def _check(self, studio: Studio, workflow: Workflow) -> int:
        problems = await check(workflow, studio) if self.connects else [*workflow.problems, *check_names(workflow)]
        self._out.data(*(f"{one.severity}: {one}" for one in problems))
        facts: Json = [one._asdict() for one in problems]
        if wrong := sum(one.severity == "error" for one in problems):
            return self._out.fail(StudioError(f"{plural(wrong, 'error')} in {workflow.file}."), {"result": facts})
        self._out.note("no errors")
        return self._out.done(facts)

    def _show(self, redactor: Redactor) -> int:
        """Print the schema, or stored runs."""
        out, store = self._out, RunStore(Paths.default().state / "runs", redactor)
        match self._words:
            case ["schema"]:
                return self._output(schema())
            case ["runs"]:
                runs, now = [{**one, "steps": len(one["steps"])} for one in store.all()], time.time()
                keys = ("id", "began", "workflow", "state", "error")
                shown = ({**one, "began": moment(one["began"], now)} for one in runs)
                rows = [[str(one.get(key) or "") for key in keys] for one in shown]
                return out.listing(rows, runs, empty="no runs")
            case ["show", identity]:
                return self._output(store.find(identity))
            case ["diff", before, after]:
                return self._differences(diff(store.find(before).get("steps"), store.find(after).get("steps")))
            case _:
                raise UsageError("What of workflows?", hint=_CHECK)

    async def _run(self, studio: Studio, workflow: Workflow) -> int:
        options, out, store = self._options, self._out, RunStore(studio.paths.state / "runs", studio.redactor)
        start = self._value("--from")
        earlier = store.find(self._value("--after") or "last") if start else None
        inputs, approved = self._read(workflow), "--yes" in options
        run = Run(workflow, studio, inputs, approved=approved, earlier=earlier, start=start)
        if "--dry-run" in options:
            calls = planned(workflow, studio, run.inputs)
            rows = [(one.path, one.tool, printable(one.arguments, indent=None), one.only_if) for one in calls]
            return out.listing(rows, [one._asdict() for one in calls], empty="It makes no calls.")
        if "--durable" in options:
            return await self._durable(studio, workflow, run.inputs)
        run.changed.connect(partial(self._narrate, run))
        return await self._reported(run, store.follow(run))

    async def _reported(self, run: Run, work: Awaitable[None]) -> int:
        """Run the workflow, write the requested reports, and print the output."""
        options, out, report = self._options, self._out, Report(run)
        await work
        out.more["run"] = run.id
        if why := run.why:
            why.hint = "--yes approves what would be asked about." if isinstance(run.error, InputNeeded) else why.hint
        for option, write in (("--junit", report.junit), ("--record", report.record)):
            if (file := self._value(option)) and not (why and option == "--record"):
                write(Path(file))
        if self._snapshot is not None:
            ignore = Ignore(options.get("--ignore", []), usual="--strict" not in options)
            return self._differences(report.compare(self._snapshot, ignore), why)
        return out.fail(why) if why else self._output(run.output)

    def _value(self, option: str) -> str:
        return (self._options.get(option) or [""])[-1]

    def _read(self, workflow: Workflow) -> dict[str, Json]:
        """Parse the inputs on the command line.

        Raises:
            UsageError: an input cannot be read.
        """
        form, value = build(workflow.inputs or {"type": "object"}), self._inputs
        for pair in self._words[1:]:
            try:
                value = mapping(set_pair(form, value, pair))
            except ValueError as problem:
                raise UsageError(f"The inputs cannot be read: {problem}.".replace("?.", "?")) from None
        return value

    async def _durable(self, studio: Studio, workflow: Workflow | None, inputs: dict[str, Json]) -> int:
        options, out, is_worker = self._options, self._out, self._verb == "worker"
        name = self._value("--name") or socket.gethostname() if is_worker else ""
        database = self._value("--database") or sqlite_address(studio.paths.state / "workflows.sqlite")
        async with DurableRuns(studio, database, name, approved="--yes" in options) as runs:
            runs.held.connect(out.note)
            runs.begun.connect(lambda run: run.changed.connect(partial(self._narrate, run)) and None)
            if is_worker:
                out.note(f"{name} works on what is queued, until Ctrl-C")
                await asyncio.Event().wait()
            if workflow is None:
                identity = out.more["run"] = self._value("--resume")
                return await self._finish(runs, runs.resume(identity), identity)
            if "--schedule" in options:
                await runs.schedule(workflow, cron := self._value("--schedule"), inputs)
                out.note("`mcp-studio worker` runs it at these times" if cron else "it is no more scheduled")
                return out.done()
            identity = out.more["run"] = urandom(6).hex()
            out.note(f"`mcp-studio run --resume {identity}` goes on with it where it is interrupted")
            return await self._finish(runs, runs.run(workflow, inputs, identity), identity)

    async def _finish(self, runs: DurableRuns, work: Awaitable[Json], identity: str) -> int:
        """Print the output of a durable run; reports come from the records of all processes."""
        if not {"--junit", "--record", "--compare"} & self._options.keys():
            return self._output(await work)
        try:
            await work
        except StudioError as error:  # other errors are in the database
            if isinstance(error, InputNeeded | UsageError):
                raise
        run = await runs.recorded(identity)
        return await self._reported(run, run.execute())

    def _narrate(self, run: Run, node: StepRun) -> None:
        if node in run.root.children and node.state in ENDED:
            took = duration(node.ms) if node.began else ""
            self._out.note(f"{_MARKS[node.state]} {node.path}  {took}  {node.line}".rstrip())

    def _output(self, value: Json) -> int:
        self._out.data(value if isinstance(value, str) else pretty(value))
        return self._out.done(value)

    def _differences(self, found: tuple[Difference, ...], why: StudioError | None = None) -> int:
        """Print differences; the command fails because of them, or for the given reason."""
        self._out.data(*map(difference_line, found))
        facts: Json = [one.as_json() for one in found]
        if found or why:
            return self._out.fail(why or StudioError(f"{plural(len(found), 'difference')}."), {"result": facts})
        self._out.note("the same")
        return self._out.done(facts)
