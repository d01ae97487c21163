"""Records of runs: the newest are stored in a folder; for CI there are comparable snapshots, and JUnit reports."""

from __future__ import annotations

import asyncio
import re
from contextlib import suppress
from pathlib import Path
from xml.etree import ElementTree

from mcp_studio.errors import InputNeeded, StudioError, UsageError
from mcp_studio.jsontext import Json, dumps, loads, mapping, pretty
from mcp_studio.limits import MB
from mcp_studio.paths import read_object, write_atomically, write_object
from mcp_studio.redact import Redactor
from mcp_studio.safetext import safe
from mcp_studio.trace.diff import USUAL, Difference, Ignore, diff
from mcp_studio.workflow.run import ENDED, AssertFailed, Run, StepRun

_MOST_RUNS = 100
_LARGEST = 8 * MB
_MOST = 10_000
"""The most calls and asserts of one run in a report."""


class RunStore:
    """Stores the newest runs, one file each. If the disk refuses, only the record is lost.

    Methods that are no coroutines block, and belong in a thread.
    """

    def __init__(self, folder: Path, redactor: Redactor) -> None:
        self._folder, self._redactor = folder, redactor

    def keep(self, run: Run) -> None:
        """Store a run without its secrets; of a run that is too large only the states of its steps.

        A run that was refused before it did anything is not stored, and a resumed run replaces its earlier record.
        """
        refused = run.error is not None and run.error.exit_code in (UsageError.exit_code, InputNeeded.exit_code)
        if refused and not any(node.state == "done" or node.counts for node in run.root.walk()):
            return
        value = run.as_json()
        data = dumps(value)
        if len(data) > _LARGEST:
            value = _without_values(value)
            data = dumps(value)
        with suppress(OSError):
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            write_object(self._folder / f"{run.root.began * 1000:.0f}-{run.id}.json", loads(self._redactor.bytes(data)))
            files = self._files()
            for old in [*(file for file in files[1:] if file.stem.endswith(f"-{run.id}")), *files[_MOST_RUNS:]]:
                old.unlink(missing_ok=True)

    async def follow(self, run: Run) -> None:
        """Run a workflow to its end, even by cancellation, and store it."""
        try:
            await run.execute()
        finally:
            await asyncio.shield(asyncio.to_thread(self.keep, run))

    def all(self) -> list[dict[str, Json]]:
        """The stored runs, newest first."""
        return [record for file in self._files() if (record := read_object(file))]

    def find(self, identity: str) -> dict[str, Json]:
        """The run whose id begins with this text; `last` is the newest.

        Raises:
            UsageError: no run matches, or several do.
        """
        files = [file for file in self._files() if file.stem.partition("-")[2].startswith(identity)]
        files = self._files()[:1] if identity == "last" else files
        if len(files) != 1 or not identity:
            many = f"{len(files)} runs begin" if files and identity else "No run is kept that begins"
            raise UsageError(f"{many} with {identity!r}.", hint="`mcp-studio workflow runs` lists them.")
        return read_object(files[0])

    def _files(self) -> list[Path]:
        files = [file for file in self._folder.glob("*-*.json") if file.stem.partition("-")[0].isdigit()]
        return sorted(files, key=lambda file: (int(file.stem.partition("-")[0]), file.stem), reverse=True)


def _without_values(value: Json) -> Json:
    if isinstance(value, list):
        return [_without_values(one) for one in value]
    dropped = ("inputs", "output", "raw", "vars")
    return {key: _without_values(one) if key == "steps" else one for key, one in value.items() if key not in dropped}


def read_snapshot(file: Path) -> dict[str, Json]:
    """Read the snapshot of a run that a report has written.

    Raises:
        UsageError: the file does not exist, or is no snapshot of a run.
    """
    value = read_object(file)
    if value.get("version") != 1 or "calls" not in value:
        raise UsageError(f"{file} is no snapshot of a run.", hint="`mcp-studio run FILE --record NEW` writes one.")
    return value


class Report:
    """Follows a run, and collects its calls with their results, and its asserts."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self.cases: list[StepRun] = []
        """Asserts, and steps that failed."""
        self.calls: dict[str, Json] = {}
        """By path in the run: tool, arguments, and output or error."""
        run.changed.connect(self._changed)

    def _changed(self, node: StepRun) -> None:
        step = node.step
        if step is None or node.state not in ENDED or not node.began or node.children:
            return
        if step.kind == "call" and len(self.calls) < _MOST:
            ended: dict[str, Json] = {"error": node.error.message} if node.error else {"output": node.output}
            self.calls[node.path] = {"tool": step.raw["call"], "arguments": node.inputs, **ended}
        if (step.kind == "assert" or node.state == "failed") and len(self.cases) < _MOST:
            self.cases.append(node)

    def snapshot(self) -> dict[str, Json]:
        """The run's calls and output without secrets, to compare with another run's."""
        run = self._run
        calls = dict(sorted(self.calls.items(), key=lambda one: _sort_key(one[0])))
        value = {"version": 1, "workflow": run.workflow.name, "state": run.state, "output": run.output, "calls": calls}
        return loads(run.studio.redactor.bytes(dumps(value)))

    def record(self, file: Path) -> None:
        """Write the snapshot into a file.

        Raises:
            StudioError: the file cannot be written.
        """
        _write(file, pretty(self.snapshot()).encode())

    def compare(self, before: dict[str, Json], ignore: Ignore = USUAL) -> tuple[Difference, ...]:
        """The differences between another run's snapshot and this run; of a run that failed, in the calls it made."""
        now = self.snapshot()
        if self._run.error:
            now, earlier = {"calls": now["calls"]}, mapping(before["calls"])
            before = {"calls": {path: earlier[path] for path in now["calls"] if path in earlier}}
        return diff({**before, "workflow": ""}, {**now, "workflow": ""}, ignore)

    def junit(self, file: Path) -> None:
        """Write asserts, and what made the run fail, as JUnit XML; if there are neither, the run as a whole.

        Raises:
            StudioError: the file cannot be written.
        """
        run = self._run
        cases = [case for case in self.cases if run.error or not case.error]
        cases = cases if any(case.error is run.error for case in cases) else [*cases, run.root]
        wrong = [case for case in cases if case.error]
        facts = {"name": run.workflow.name, "tests": str(len(cases)), "time": f"{run.root.ms / 1000:.3f}"}
        asserts = sum(isinstance(case.error, AssertFailed) for case in wrong)
        facts |= {"failures": str(asserts), "errors": str(len(wrong) - asserts)}
        top = ElementTree.Element("testsuites")
        suite = ElementTree.SubElement(top, "testsuite", {key: safe(value, 200) for key, value in facts.items()})
        for case in cases:
            title = case.step.title if case.step else "the run ends well"
            attributes = {"classname": case.path or run.workflow.name, "name": title, "time": f"{case.ms / 1000:.3f}"}
            node = ElementTree.SubElement(suite, "testcase", {key: safe(text, 400) for key, text in attributes.items()})
            if case.error:
                message = safe(run.studio.redactor.text(case.error.message), 4_000)
                kind = "failure" if isinstance(case.error, AssertFailed) else "error"
                ElementTree.SubElement(node, kind, {"message": message}).text = message
        ElementTree.indent(top)
        _write(file, ElementTree.tostring(top, encoding="utf-8", xml_declaration=True))


def _write(file: Path, data: bytes) -> None:
    try:
        write_atomically(file, data + b"\n", mode=0o644)
    except OSError as problem:
        raise StudioError(f"{file} cannot be written: {problem.strerror or problem}.") from None


def _sort_key(path: str) -> list[tuple[int, str]]:
    """The sort key of a path in the run: `cities[9]` comes before `cities[10]`."""
    return [(int(part), "") if part.isdigit() else (0, part) for part in re.split(r"([0-9]+)", path)]
