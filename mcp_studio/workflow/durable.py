"""Runs that survive their process: the same plan as a workflow of DBOS, which keeps every step in a database.

DBOS does all that is about persistence, queues and schedules. What is here says what its steps and children are.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
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
from mcp_studio.workflow.run import Direct, Job, Run, StepRun, Work, outcome_of, packed, unpacked, unwrapped

_VERSION = "mcp-studio-1"
"""Of what is written; a process takes up only what was written under the same."""
_POLL = 0.05
"""Seconds between two looks into a queue."""
_PROCESS = os.urandom(8).hex()
_RUN = "run-"
"""How the name of a process begins that runs one workflow."""
_OPEN = ["PENDING", "ENQUEUED"]


def sqlite_address(file: Path) -> str:
    """A file as the address of a database; its folder is there then."""
    file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    return f"sqlite:///{file}"


class DurableRuns:
    """The runs in a database; use it as `async with DurableRuns(...) as runs`. A process has one at a time.

    Each run, item and branch is a workflow of DBOS, and each call a step of that.

    Args:
        database: `sqlite:///FILE` or `postgresql://HOST/NAME`.
        name: what this process is called there. One that begins under the name of one that ended goes on with what
            that had begun, so no two that run may have the same; without a name it has one of its own.
        approved: as for `Run`, of all that is done here. What stands in the database approves nothing.
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
        """A run, or an item or branch of one, is about to go on here."""
        self.held: Signal[str] = Signal()
        """Why something does not go on, in a sentence: a worker has it, or nobody said whether to do it again."""
        self._tasks: set[asyncio.Task[Any]] = set()
        self._open: dict[str, StepRun] = {}
        """What has items or branches that are not done, by run and path: those that are done here come under it."""
        self._postponed: asyncio.Future[Json] = self._loop.create_future()
        """Why something was left as it is: it may have been done, and nobody said what to do about it."""

    async def __aenter__(self) -> DurableRuns:
        engine = self._dbos.DBOS(config={
            "name": "mcp-studio", "system_database_url": self._database, "executor_id": self._name,
            "application_version": _VERSION, "log_level": "CRITICAL", "console_log_level": "CRITICAL",
            "serializer": self._dbos.DBOSPortableJSONSerializer(),
        })  # fmt: skip

        async def part(plan: Json) -> Json:
            return await self._hop(plan)

        async def scheduled(when: datetime, plan: Json) -> Json:
            return await self._hop({**plan, "run": self._dbos.DBOS.workflow_id})

        self._part = engine.workflow(max_recovery_attempts=None)(part)
        self._scheduled = engine.workflow(max_recovery_attempts=None)(scheduled)
        try:
            await asyncio.to_thread(engine.launch)
        except Exception as problem:  # boundary: whatever the drivers of databases raise
            self._dbos.DBOS.destroy()
            why = (str(problem).splitlines() or [type(problem).__name__])[0]
            raise ConfigError(f"The database of runs cannot be opened: {why}") from None
        return self

    async def __aexit__(self, *error: object) -> None:
        for task in self._tasks:
            task.cancel()  # before their calls are: nothing is written of what is left as it is
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await asyncio.to_thread(self._dbos.DBOS.destroy, workflow_completion_timeout_sec=0)
        self._loop.set_default_executor(ThreadPoolExecutor())  # DBOS has put its own there, and ended that

    async def run(self, workflow: Workflow, inputs: dict[str, Json], identity: str) -> Json:
        """Begin a run under an id, wait for its end, and give its output.

        Raises:
            StudioError: why it failed, also as `resume`.
        """
        plan = self._plan(workflow, inputs, identity)
        with self._dbos.SetWorkflowID(identity):
            return await self._end(await self._dbos.DBOS.start_workflow_async(self._part, plan))

    async def resume(self, identity: str) -> Json:
        """Go on with a run whose process has ended, and with what that process had begun of it; gives its output.

        Raises:
            UsageError: there is no such run, or it has ended.
            InputNeeded: something may have been done, and nobody said whether it is to be done again.
            StudioError: why it failed.
        """
        dbos = self._dbos.DBOS
        (found,) = await dbos.list_workflows_async(workflow_ids=[identity]) or [None]
        if found is None or found.status not in _OPEN:
            what = f"has ended ({found.status.lower()})" if found else "is not in this database"
            hint = "`mcp-studio run --durable` says the id of a run when it begins."
            raise UsageError(f"The run {identity} {what}.", hint=hint)
        children = await dbos.list_workflows_async(
            workflow_id_prefix=f"{identity}:", status="PENDING", load_input=False
        )
        workers = {one.executor_id for one in children if not one.executor_id.startswith(_RUN)} - {found.executor_id}
        for name in workers:  # they take it up again by themselves: they may be alive
            said = f"It waits for the worker {name}, which has begun a part of it: where that has stopped"
            self.held.emit(f"{said}, start it again by its name.")
        for one in children:
            if one.executor_id not in workers:
                await dbos.resume_workflow_async(one.workflow_id, queue_name=one.queue_name)
        return await self._end(await dbos.resume_workflow_async(identity))

    async def recorded(self, identity: str) -> Run:
        """A run that has ended, to be executed again from what is recorded of it: nothing is called."""
        dbos = self._dbos.DBOS
        found = await dbos.list_workflows_async(workflow_ids=[identity])
        plan, record = found[0].input["args"][-1], dict[str, tuple[float, Json]]()
        found += await dbos.list_workflows_async(workflow_id_prefix=f"{identity}:", load_input=False)
        for one in found:
            for step in await dbos.list_workflow_steps_async(one.workflow_id):
                seconds = (step["completed_at_epoch_ms"] - step["started_at_epoch_ms"]) / 1000
                record[step["function_name"]] = seconds, step["output"]
        workflow = Workflow.of(plan["document"], plan["file"])
        return Run(workflow, self._studio, plan["inputs"], id=identity, engine=Direct(record))

    async def _end(self, handle: Any) -> Json:
        work = asyncio.ensure_future(handle.get_result(polling_interval_sec=_POLL))
        try:
            await asyncio.wait((work, self._postponed), return_when=asyncio.FIRST_COMPLETED)
            found = self._postponed.result() if self._postponed.done() else await work
        finally:
            work.cancel()
        if found["error"]:
            raise unpacked(found["error"])
        return found["output"]

    async def schedule(self, workflow: Workflow, cron: str, inputs: dict[str, Json]) -> None:
        """Have workers run a workflow at the times of a cron line; without one no more.

        Raises:
            UsageError: it is no cron line.
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

    # ------------------------------------------------------------------ what DBOS calls

    async def _hop(self, plan: Json) -> Json:
        """Do a part on the loop of the studio: what was queued comes on another one."""

        async def do() -> Json:
            self._tasks.add(task := asyncio.ensure_future(self._do(plan)))
            task.add_done_callback(self._tasks.discard)
            return await task

        if asyncio.get_running_loop() is self._loop:
            return await do()
        return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(do(), self._loop))

    async def _do(self, plan: Json) -> Json:
        """A whole run, or one item or branch of it; failures are values, since those are kept as they are."""
        workflow = Workflow.of(plan["document"], plan["file"])
        run = Run(workflow, self._studio, plan["inputs"], approved=self._approved, id=plan["run"], engine=self)
        self.begun.emit(run)
        if "part" not in plan:
            await RunStore(self._studio.paths.state / "runs", self._studio.redactor).follow(run)
            return {"output": run.output, "error": packed(run.why) if run.why else None}
        part = plan["part"]
        results = {name: StepResult(**one) for name, one in part["results"].items()}
        scope = Scope({**part["names"], **results, "input": run.inputs})
        steps = [step for identity in part["steps"] if (step := workflow.step(identity))]
        node = StepRun(path=part["path"], index=0, above=self._open.get(f"{run.id}:{part['above']}"))
        try:
            await run.listed(steps)
            ended = {"value": await run.part(node, steps, scope)}
            return ended | ({"unmet": [run.unmet[0], packed(run.unmet[1])]} if run.unmet else {})
        except StudioError as error:
            return {"error": packed(error), "failed": run.blamed.path if run.blamed else node.path}

    # ------------------------------------------------------------------ the engine of its runs

    async def perform(self, run: Run, node: StepRun, repeatable: bool, work: Work) -> Json:
        """Do it as a step. What may not be repeated notes before who does it: if that is not we, it may have been done.

        Raises:
            StudioError: it failed, now or before the process ended.
        """
        step: Callable[..., Awaitable[Any]] = self._dbos.DBOS.run_step_async
        if not repeatable and await step({"name": f"begin {node.path}"}, _process) != _PROCESS:
            # Where it has ended, what is kept of it counts, and this is only known to who looks for that first.
            work = self._asking(run, node, work)
        return unwrapped(await step({"name": node.path}, outcome_of, work))

    def _asking(self, run: Run, node: StepRun, work: Work) -> Work:
        async def ask_first() -> Json:
            answer = await run.question(node, f"{node.path} may have been done before its process ended. Do it again?")
            if answer.action == "accept":
                return await work()
            if answer.action == "decline" and not answer.by.startswith("nobody"):
                raise StudioError(f"{node.path} may have been done before its process ended, and was not done again.")
            why = f"Whether {node.path} is to be done again is not known: {answer.refusal}."
            if not self._name.startswith(_RUN):  # a worker, which goes on
                self.held.emit(why)
            elif not self._postponed.done():
                self._postponed.set_exception(InputNeeded(why, hint="The run stays as it is: it can be resumed."))
            raise asyncio.CancelledError  # nothing is written: it can be asked again

        return ask_first

    async def items(
        self, run: Run, node: StepRun, jobs: Sequence[Job], at_once: int, stop: str
    ) -> list[Json | StudioError]:
        """One after the other here, or as children: branches in this process, items in a queue."""
        if at_once == 1 or not jobs:
            return await Direct().items(run, node, jobs, 1, stop)
        dbos = self._dbos.DBOS
        queue, self._open[f"{run.id}:{node.path}"] = f"mcp-studio-{at_once}", node
        if jobs[0].node is None:
            once = {"partition_concurrency": at_once, "polling_interval_sec": _POLL}
            await asyncio.to_thread(dbos.register_queue, queue, **once)
        handles: list[Any] = []
        for at, job in enumerate(jobs):
            path = job.node.path.rpartition(".")[0] if job.node else f"{node.path}[{at}]"
            part = {"path": path, "above": node.path, "steps": [step.id for step in job.steps], **_exported(job)}
            plan = self._plan(run.workflow, run.inputs, run.id) | {"part": part}
            with self._dbos.SetWorkflowID(f"{run.id}:{path}:{job.steps[0].id}"):
                if job.node:
                    handles.append(await dbos.start_workflow_async(self._part, plan))
                    continue
                with self._dbos.SetEnqueueOptions(queue_partition_key=f"{run.id}:{node.path}"):
                    handles.append(await dbos.enqueue_workflow_async(queue, self._part, plan))
        found: list[Json | StudioError] = []
        for job, handle in zip(jobs, handles, strict=True):
            ended = await handle.get_result(polling_interval_sec=_POLL)
            value = unpacked(ended["error"]) if "error" in ended else ended["value"]
            if isinstance(value, StudioError) and not any(isinstance(one, StudioError) for one in found):
                run.blamed = StepRun(path=ended["failed"], error=value)
            if "unmet" in ended:
                run.unmet = run.unmet or (ended["unmet"][0], unpacked(ended["unmet"][1]))
            run.ended(node, job.node, value)
            found.append(value)
        del self._open[f"{run.id}:{node.path}"]
        return found


async def _process() -> str:
    return _PROCESS


def _exported(job: Job) -> dict[str, Json]:
    """What the steps of a job can name, and do name."""
    steps = (step for top in job.steps for step in top.walk())
    paths = [name.path for step in steps for expression in step.expressions() for name in expression.names]
    used = {path[0] for path in paths} | {"var"}
    names, results = dict[str, Json](), dict[str, Json]()
    for name in used & job.scope.keys() - {"input"}:
        value = job.scope[name]
        if isinstance(value, StepResult):
            raw = value.raw if any(path[:1] == (name,) and "raw" in path[1:2] for path in paths) else None
            results[name] = asdict(value) | {"raw": raw}
        else:
            names[name] = value
    return {"names": names, "results": results}
