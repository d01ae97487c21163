"""Runs that survive their process: each is a workflow of DBOS, which stores every step in a database.

DBOS handles persistence, queues and schedules; this module defines its steps and child workflows.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, replace
from datetime import datetime
from pathlib import Path
from typing import Any

from mcp_studio.errors import ConfigError, InputNeeded, StudioError, UsageError
from mcp_studio.jsontext import Json
from mcp_studio.signal import Signal
from mcp_studio.studio import Studio
from mcp_studio.workflow.check import Scope
from mcp_studio.workflow.expression import StepResult
from mcp_studio.workflow.model import Workflow
from mcp_studio.workflow.records import RunStore
from mcp_studio.workflow.run import Direct, Job, Run, StepRun, Values, Work, outcome_of, packed, unpacked, unwrapped

_VERSION = "mcp-studio-1"
"""The version of the stored data; a process resumes only data of its own version."""
_POLL = 0.05
"""Seconds between two polls of a queue."""
_PROCESS = os.urandom(8).hex()
_RUN = "run-"
"""The prefix of the name of a process that runs one workflow."""
_OPEN = ["PENDING", "ENQUEUED"]


def sqlite_address(file: Path) -> str:
    """The address of a database file, whose folder is created."""
    file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    return f"sqlite:///{file}"


class DurableRuns:
    """The runs in a database; use it as `async with DurableRuns(...) as runs`. A process has one at a time.

    Each run, item and branch is a workflow of DBOS, and each call is a step of it.

    Args:
        database: `sqlite:///FILE` or `postgresql://HOST/NAME`.
        name: the name of this process in the database. A process continues what an earlier process of its name had
            begun, so two running processes must not share a name; without one it gets a unique name.
        approved: as for `Run`, for everything that this process does. Nothing in the database can approve anything.
    """

    live = True

    def __init__(self, studio: Studio, database: str, name: str = "", *, approved: bool = False) -> None:
        try:
            import dbos
        except ImportError:
            hint = "pip install 'mcp-studio[durable]'"
            raise UsageError("Durable runs need the package dbos, which is not installed.", hint=hint) from None
        self._dbos: Any = dbos
        self._studio, self._database, self._approved = studio, database, approved
        self._name, self._loop = name or f"{_RUN}{_PROCESS}", asyncio.get_running_loop()
        self.begun: Signal[Run] = Signal()
        """This process is about to start or continue a run, or an item or branch of one."""
        self.held: Signal[str] = Signal()
        """Why something does not continue, as a sentence: a worker holds it, or nobody answered a question."""
        self._tasks: set[asyncio.Task[Any]] = set()
        self._open_nodes: dict[str, StepRun] = {}
        """The nodes whose items or branches are running, by run and path: parts that run here get their node as
        parent."""
        self._postponement: asyncio.Future[Json] = self._loop.create_future()
        """The question because of which a run was left as it is."""

    async def __aenter__(self) -> DurableRuns:
        async def part(plan: Json) -> Json:
            return await self._on_studio_loop(plan)

        async def scheduled(when: datetime, plan: Json) -> Json:
            return await self._on_studio_loop({**plan, "run": self._dbos.DBOS.workflow_id})

        try:
            engine = self._dbos.DBOS(config={
                "name": "mcp-studio", "system_database_url": self._database, "executor_id": self._name,
                "application_version": _VERSION, "log_level": "CRITICAL", "console_log_level": "CRITICAL",
                "serializer": self._dbos.DBOSPortableJSONSerializer(),
            })  # fmt: skip
            self._part = engine.workflow(max_recovery_attempts=None)(part)
            self._scheduled = engine.workflow(max_recovery_attempts=None)(scheduled)
            await asyncio.to_thread(engine.launch)
        except Exception as problem:  # boundary: database drivers raise errors of many kinds
            self._dbos.DBOS.destroy()
            why = (str(problem).splitlines() or [type(problem).__name__])[0]
            raise ConfigError(f"The database of runs cannot be opened: {why}") from None
        return self

    async def __aexit__(self, *error: object) -> None:
        for task in self._tasks:
            task.cancel()  # before their calls, so that nothing is stored about unfinished work
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await asyncio.to_thread(self._dbos.DBOS.destroy, workflow_completion_timeout_sec=0)
        self._loop.set_default_executor(ThreadPoolExecutor())  # DBOS has set and closed its own

    async def run(self, workflow: Workflow, inputs: dict[str, Json], identity: str) -> Json:
        """Start a run under an id, wait for its end, and return its output.

        Raises:
            StudioError: why the run failed; see also `resume`.
        """
        plan = self._plan(workflow, inputs, identity)
        with self._dbos.SetWorkflowID(identity):
            return await self._end(await self._dbos.DBOS.start_workflow_async(self._part, plan))

    async def resume(self, identity: str) -> Json:
        """Continue a run whose process has ended, including the parts that process had begun; returns the output.

        Raises:
            UsageError: there is no such run, or it has ended.
            InputNeeded: nobody has answered a question; the run can be resumed.
            StudioError: why the run failed.
        """
        dbos = self._dbos.DBOS
        (row,) = await dbos.list_workflows_async(workflow_ids=[identity]) or [None]
        if row is None or row.status not in _OPEN:
            what = "has ended" if row else "is not in this database"
            hint = "`mcp-studio run --durable` says the id of a run when it begins."
            raise UsageError(f"The run {identity} {what}.", hint=hint)
        parts = await dbos.list_workflows_async(workflow_id_prefix=f"{identity}:", status="PENDING", load_input=False)
        workers = {one.executor_id for one in parts if not one.executor_id.startswith(_RUN)} - {row.executor_id}
        for name in workers:  # these workers may be alive, and continue their parts themselves
            self.held.emit(f"The worker {name} has begun a part of it: if it has stopped, start it again by its name.")
        for one in parts:
            if one.executor_id not in workers:
                await dbos.resume_workflow_async(one.workflow_id, queue_name=one.queue_name)
        return await self._end(await dbos.resume_workflow_async(identity))

    async def recorded(self, identity: str) -> Run:
        """A run that has ended, to be replayed from its stored results: nothing is called."""
        dbos = self._dbos.DBOS
        rows = await dbos.list_workflows_async(workflow_ids=[identity])
        plan, record = rows[0].input["args"][-1], dict[str, tuple[float, Json]]()
        rows += await dbos.list_workflows_async(workflow_id_prefix=f"{identity}:", load_input=False)
        for one in rows:
            for step in await dbos.list_workflow_steps_async(one.workflow_id):
                seconds = (step["completed_at_epoch_ms"] - step["started_at_epoch_ms"]) / 1000
                record[step["function_name"]] = seconds, step["output"]
        workflow = Workflow.of(plan["document"], plan["file"])
        return Run(workflow, self._studio, plan["inputs"], id=identity, engine=Direct(record))

    async def _end(self, handle: Any) -> Json:
        work = asyncio.ensure_future(handle.get_result(polling_interval_sec=_POLL))
        try:
            await asyncio.wait((work, self._postponement), return_when=asyncio.FIRST_COMPLETED)
            result = self._postponement.result() if self._postponement.done() else await work
        finally:
            work.cancel()
        if result["error"]:
            raise unpacked(result["error"])
        return result["output"]

    async def schedule(self, workflow: Workflow, cron: str, inputs: dict[str, Json]) -> None:
        """Have workers run a workflow at the times of a cron line; an empty line ends the schedule.

        Raises:
            UsageError: the cron line is invalid.
        """
        dbos, name = self._dbos.DBOS, workflow.name
        await dbos.delete_schedule_async(name)
        if not cron:
            return
        more = {"schedule": cron, "context": self._plan(workflow, inputs)}
        try:
            await dbos.create_schedule_async(schedule_name=name, workflow_fn=self._scheduled, **more)
        except self._dbos.error.DBOSException as problem:
            hint = 'Such as "0 * * * *", every hour.'
            raise UsageError(f"{name} cannot be scheduled: {problem}", hint=hint) from None

    def _plan(self, workflow: Workflow, inputs: dict[str, Json], identity: str = "") -> dict[str, Json]:
        return {"document": workflow.document, "file": workflow.file, "inputs": inputs, "run": identity}

    # ------------------------------------------------------------------ called by DBOS

    async def _on_studio_loop(self, plan: Json) -> Json:
        """Run a part on the studio's event loop: DBOS runs queued work on another one."""

        async def do() -> Json:
            self._tasks.add(task := asyncio.ensure_future(self._do(plan)))
            task.add_done_callback(self._tasks.discard)
            return await task

        if asyncio.get_running_loop() is self._loop:
            return await do()
        return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(do(), self._loop))

    async def _do(self, plan: Json) -> Json:
        """Run a workflow, or one item or branch of it. Errors are returned as values, which DBOS stores unchanged."""
        workflow = Workflow.of(plan["document"], plan["file"])
        run = Run(workflow, self._studio, plan["inputs"], approved=self._approved, id=plan["run"], engine=self)
        self.begun.emit(run)
        if "part" not in plan:
            await RunStore(self._studio.paths.state / "runs", self._studio.redactor).follow(run)
            return {"output": run.output, "error": packed(run.why) if run.why else None}
        part = plan["part"]
        results = {name: StepResult(**one) for name, one in part["results"].items()}
        scope = Scope({**part["names"], **results, "input": run.inputs})
        steps = [step for step in workflow.walk() if step.id in part["steps"]]
        node = StepRun(path=part["path"], index=0, above=self._open_nodes.get(f"{run.id}:{part['above']}"))
        try:
            await run.listed(steps)
            outcome = {"value": await run.part(node, steps, scope)}
            if part["path"] == part["above"]:  # a branch, whose result later steps can name
                outcome["raw"] = node.children[0].raw
            return outcome | ({"unmet": [run.unmet[0], packed(run.unmet[1])]} if run.unmet else {})
        except StudioError as error:
            return {"error": packed(error), "failed": run.blamed.path if run.blamed else node.path}

    # ------------------------------------------------------------------ the engine of these runs

    async def perform(self, run: Run, node: StepRun, repeatable: bool, work: Work) -> Json:
        """Run a call as a step. Before a call that must not be repeated, the step `begin` stores the process.

        If another process had begun it, the call may have happened already, and a person decides.

        Raises:
            StudioError: the call failed, now or before the process ended.
        """
        step: Callable[..., Awaitable[Any]] = self._dbos.DBOS.run_step_async
        begun_elsewhere = not repeatable and await step({"name": f"begin {node.path}"}, _process) != _PROCESS

        async def do() -> Json:  # DBOS first looks for a stored result of the step, so it asks only if there is none
            try:
                if begun_elsewhere:
                    question = f"{node.path} may have been done before its process ended. Do it again?"
                    await run.ask(node, question, always=True)
                return await work()
            except InputNeeded as why:
                if not begun_elsewhere and (node.step is None or node.step.kind != "wait"):
                    raise
                if not self._name.startswith(_RUN):  # a worker continues with other work
                    self.held.emit(why.message)
                elif not self._postponement.done():
                    why.hint = f"`mcp-studio run --resume {run.id}` continues from here."
                    self._postponement.set_exception(why)
                raise asyncio.CancelledError from None  # nothing is stored, so the question can be asked again

        return unwrapped(await step({"name": node.path}, outcome_of, do))

    async def items(self, run: Run, node: StepRun, jobs: Sequence[Job], at_once: int, stop: str) -> Values:
        """Run jobs in turn here, or as child workflows: branches in this process, items in a queue."""
        if at_once == 1 or not jobs:
            return await Direct().items(run, node, jobs, 1, stop)
        dbos = self._dbos.DBOS
        queue, self._open_nodes[f"{run.id}:{node.path}"] = f"mcp-studio-{at_once}", node
        if jobs[0].node is None:
            once = {"partition_concurrency": at_once, "polling_interval_sec": _POLL}
            await asyncio.to_thread(dbos.register_queue, queue, **once)
        handles: list[Any] = []
        for at, job in enumerate(jobs):
            path = job.node.path.rpartition(".")[0] if job.node else f"{node.path}[{at}]"
            part = {"path": path, "above": node.path, "steps": [step.id for step in job.steps], **_exports(job)}
            plan = self._plan(run.workflow, run.inputs, run.id) | {"part": part}
            with self._dbos.SetWorkflowID(f"{run.id}:{path}:{job.steps[0].id}"):
                if job.node:
                    handles.append(await dbos.start_workflow_async(self._part, plan))
                    continue
                with self._dbos.SetEnqueueOptions(queue_partition_key=f"{run.id}:{node.path}"):
                    handles.append(await dbos.enqueue_workflow_async(queue, self._part, plan))
        items: Values = []
        for job, handle in zip(jobs, handles, strict=True):
            outcome = await handle.get_result(polling_interval_sec=_POLL)
            value = unpacked(outcome["error"]) if "error" in outcome else outcome["value"]
            if isinstance(value, StudioError) and not any(isinstance(one, StudioError) for one in items):
                run.blamed = StepRun(path=outcome["failed"], error=value)
            if "unmet" in outcome:
                run.unmet = run.unmet or (outcome["unmet"][0], unpacked(outcome["unmet"][1]))
            if job.node:
                job.node.raw = outcome.get("raw")
            run.note_end(node, job.node, value)
            items.append(value)
        del self._open_nodes[f"{run.id}:{node.path}"]
        return items


async def _process() -> str:
    return _PROCESS


def _exports(job: Job) -> dict[str, Json]:
    """The names and results in a job's scope that its steps use."""
    steps = (step for top in job.steps for step in top.walk())
    paths = [name.path for step in steps for expression in step.expressions() for name in expression.names]
    roots, unchanged = {path[0] for path in paths}, {path[0] for path in paths if path[1:2] in (("raw",), ("text",))}
    names, results = dict[str, Json](), dict[str, Json]()
    for name in (roots | {"var"}) & job.scope.keys() - {"input"}:
        value = job.scope[name]
        if isinstance(value, StepResult):
            results[name] = asdict(replace(value, raw=value.raw if name in unchanged else None))
        else:
            names[name] = value
    return {"names": names, "results": results}
