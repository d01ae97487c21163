"""One run of a workflow: its steps as a tree with states; every call goes through the studio and its policy."""

from __future__ import annotations

import asyncio
import os
import time
from collections import Counter, deque
from collections.abc import Awaitable, Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import field
from functools import partial
from typing import Any, ClassVar, Literal, NamedTuple, Protocol

from mcp_studio.call.call import Call, Cancelled, Denied, Succeeded
from mcp_studio.call.policy import tool_of
from mcp_studio.config.model import Timeouts
from mcp_studio.errors import ConfigError, InputNeeded, StudioError, UsageError, renamed
from mcp_studio.jsontext import Json, dumps, mapping
from mcp_studio.limits import KB
from mcp_studio.present.outcomes import failure
from mcp_studio.protocol import versions
from mcp_studio.record import record
from mcp_studio.schema.field import defaults, errors
from mcp_studio.schema.form import build
from mcp_studio.session.inbox import InputRequest
from mcp_studio.signal import Signal
from mcp_studio.studio import Studio
from mcp_studio.trace.message import Span
from mcp_studio.workflow.check import Scope, check_names, settle, tool_ref
from mcp_studio.workflow.expression import Expression, StepResult
from mcp_studio.workflow.model import Step, Workflow, value_of

RunState = Literal["pending", "running", "waiting", "done", "failed", "skipped", "cancelled"]
"""`waiting`: for a person. `skipped`: the step failed and the run went on, or the step was not chosen."""
ENDED: tuple[RunState, ...] = ("done", "failed", "skipped", "cancelled")
ROUNDS = 50
"""How many rounds or items of one step keep their steps: the newest, and as many failed ones."""
_CACHED = 1_000
_CHECK = "`mcp-studio workflow check` shows all."
_LARGE = 256 * KB
"""A result with more bytes than this is parsed in a thread."""


class AssertFailed(StudioError):
    """An assert whose condition is false."""


@record(eq=False)
class StepRun:
    """One execution of a step, or of one item or round of it; `run.changed` reports each change."""

    step: Step | None = None
    """None for the whole run, and for an item or round of the step above it."""
    path: str = ""
    """The path in the run: `cities[3].forecast`; empty for the whole run."""
    index: int | None = None
    """The number of the item or round, from 0."""
    state: RunState = "pending"
    inputs: Json = None
    """The arguments of a call, the variables of a set, or the item."""
    output: Json = None
    raw: Json = None
    """The result of a call, unchanged."""
    error: StudioError | None = None
    began: float = 0.0
    """Epoch seconds."""
    ms: float = 0.0
    attempts: int = 0
    """How many calls the step has made."""
    call: Call | None = None
    """The last call of the step; it stays after the call has ended."""
    above: StepRun | None = None
    """The node that this one is part of; None once it has ended."""
    span: Span | None = None
    """The node's span in the trace once it has begun; `set`, and rounds with a single step, have none."""
    children: list[StepRun] = field(default_factory=list["StepRun"])
    counts: Counter[RunState] = field(default_factory=Counter[RunState])
    """The number of ended items or rounds by state; only some of them stay in `children`."""
    total: int | None = None
    """The number of items."""

    @property
    def line(self) -> str:
        """The node in one line: how its items ended, and why it failed. Foreign text."""
        many = ", ".join(f"{count:,} {state}" for state, count in self.counts.items())
        return f"{many} {self.error.message if self.error else ''}".strip()

    @property
    def result(self) -> StepResult:
        """The step in expressions, once it has ended."""
        return StepResult(self.output, self.raw, self.state, self.error.message if self.error else None)

    @property
    def place(self) -> Span | None:
        """The span that contains the node's work in the trace."""
        return self.span or (self.above.place if self.above else None)

    def walk(self) -> Iterator[StepRun]:
        """The node and all nodes below it."""
        yield self
        for child in self.children:
            yield from child.walk()

    def as_json(self) -> dict[str, Json]:
        """The node for export."""
        call = self.call
        facts: dict[str, Json] = {
            "step": self.step.id if self.step else None, "kind": self.step.kind if self.step else None,
            "index": self.index, "state": self.state, "began": self.began, "ms": round(self.ms, 3),
            "inputs": self.inputs, "output": self.output, "error": self.error.message if self.error else None,
            "attempts": self.attempts, "call": str(call.ref) if call else None,
            "trace": self.span.number if self.span else None, "counts": dict(self.counts), "total": self.total,
            "steps": [child.as_json() for child in self.children],
        }  # fmt: skip
        return {key: value for key, value in facts.items() if value not in (None, 0, {}, [])}


Work = Callable[[], Awaitable[Json]]
Values = list[Json | StudioError]
"""The values or errors of jobs, in their order."""


class Job(NamedTuple):
    """One of several jobs that may run at the same time: an item, or a branch."""

    steps: Sequence[Step]
    scope: Scope
    do: Work
    """Runs the steps in this process."""
    node: StepRun | None = None
    """The job's node, if it exists before the job begins."""


class Engine(Protocol):
    """Executes calls and items: in this process, or as steps and child workflows that survive it."""

    live: bool
    """Whether calls are made, which the trace records; a replay makes none."""

    async def perform(self, run: Run, node: StepRun, repeatable: bool, work: Work) -> Json:
        """Make one call or ask one question, and return the result."""
        ...

    async def items(self, run: Run, node: StepRun, jobs: Sequence[Job], at_once: int, stop: str) -> Values:
        """Run all jobs; returns their values or errors in order, and None for jobs that were not run.

        Args:
            stop: after the first `failure` or the first `success` no further job begins, and running jobs are
                cancelled.
        """
        ...


class Run:
    """A run of a workflow in a studio.

    Args:
        approved: calls that would need approval are allowed, and waiting steps go on; rules that deny still apply.
        earlier: an earlier run of the same workflow (`as_json`), whose results are reused for the steps before `start`.
        start: the step to begin with.

    Raises:
        ConfigError: the workflow has errors.
    """

    def __init__(
        self, workflow: Workflow, studio: Studio, inputs: Mapping[str, Json] | None = None, *, approved: bool = False,
        earlier: Json = None, start: str = "", id: str = "", engine: Engine | None = None,
    ) -> None:  # fmt: skip
        if wrong := workflow.errors:
            more = f" ({len(wrong) - 1} more)" if wrong[1:] else ""
            raise ConfigError(f"{wrong[0]}{more}", file=workflow.file, hint=_CHECK)
        self.id = id or os.urandom(6).hex()
        self.workflow, self.studio = workflow, studio
        self.inputs: dict[str, Json] = defaults(build(workflow.inputs or {})) | dict(inputs or {})
        self.changed: Signal[StepRun] = Signal()
        """A step has changed; `root` stands for the whole run."""
        self.root = StepRun()
        self.failed: StepRun | None = None
        """The first step whose failure ended the run, or the first assert that failed."""
        self.output: Json = None
        self.approved = approved
        self._engine: Engine = engine or Direct()
        self._start = self._top(start) if start else None
        self._earlier = mapping(earlier)
        self._vars: list[dict[str, Json]] = []
        """The variables after each top-level step."""
        self.unmet: tuple[str, StudioError] | None = None
        """The path and error of the first assert that failed without ending the run."""
        self.blamed: StepRun | None = None
        """The step whose failure is being raised through the steps above it, or was raised last."""
        self._cache: dict[bytes, Json] = {}
        self._go = asyncio.Event()
        self._go.set()
        self._task: asyncio.Task[None] | None = None
        # The id begins the trace id too, so that a search of the trace for the id also finds the requests that carry
        # it.
        self._trace = self.id.ljust(32, "0") if {*self.id} <= {*"0123456789abcdef"} else os.urandom(16).hex()
        self.root.children = self.nodes(workflow.steps, self.root)

    # ------------------------------------------------------------------ for callers

    @property
    def state(self) -> RunState:
        return self.root.state

    @property
    def error(self) -> StudioError | None:
        return self.root.error

    @property
    def why(self) -> StudioError | None:
        """The error, with the step that failed."""
        if (error := self.error) is None or self.failed is None:
            return error
        cause = renamed(error, StudioError)
        cause.message = f"Step {self.failed.path}: {error.message}"
        cause.exit_code, cause.detail = error.exit_code, error.detail
        return cause

    @property
    def paused(self) -> bool:
        """Whether no further step begins."""
        return not self._go.is_set()

    def start(self) -> asyncio.Task[None]:
        """Start the run as a task of the studio."""
        self._task = self.studio.spawn(self.execute())
        return self._task

    def pause(self) -> None:
        """Begin no further step; running steps finish."""
        self._go.clear()
        self.changed.emit(self.root)

    def resume(self) -> None:
        """Let further steps begin."""
        self._go.set()
        self.changed.emit(self.root)

    def cancel(self) -> None:
        """Cancel the run and its running calls; their servers are notified."""
        if self._task is not None:
            self._task.cancel()

    async def execute(self) -> None:
        """Run the workflow to its end; `state`, `output` and `error` have the outcome.

        Cancelling the calling task cancels the run.
        """
        root = self.root
        with suppress(StudioError), self._execution(root):
            if wrong := next((one for one in check_names(self.workflow) if one.severity == "error"), None):
                raise ConfigError(str(wrong), file=self.workflow.file, hint=_CHECK)
            await self._check_inputs()
            await self.listed(self.workflow.steps)
            scope = Scope({"input": self.inputs, "var": {}})
            last = await self._level(scope)
            root.output = self.output = self.workflow.output.value(scope) if self.workflow.output else last
            if self.unmet:
                self.blamed = StepRun(path=self.unmet[0], error=self.unmet[1])
                raise self.unmet[1]
        self.failed = self.blamed if root.error and self.blamed and self.blamed.error is root.error else None

    def as_json(self) -> dict[str, Json]:
        """The run, for storage and export."""
        return {
            "version": 1, "id": self.id, "workflow": self.workflow.name, "file": self.workflow.file, "error": None,
            "failed": self.failed.path if self.failed else None, "vars": list(self._vars), **self.root.as_json(),
            "inputs": self.inputs, "output": self.output,
            # Later steps cannot name those in items and rounds.
            "raw": {one.path: one.raw for one in self.root.walk() if one.raw is not None and "[" not in one.path},
        }  # fmt: skip

    # ------------------------------------------------------------------ steps

    async def _check_inputs(self) -> None:
        form = build(self.workflow.inputs or {"type": "object", "properties": {}, "additionalProperties": False})
        wrong = errors(await self.studio.checker.check_arguments(form, self.inputs))
        if wrong:
            listed = "; ".join(f"{one.pointer.lstrip('/') or 'all'} {one.message}" for one in wrong)
            raise UsageError(f"The inputs of {self.workflow.name} are not right: {listed}.")

    async def listed(self, steps: Sequence[Step]) -> None:
        """Wait until the servers of these steps are listed: the tools' annotations decide what needs approval."""
        calls = [one for step in steps for one in step.walk() if one.kind == "call"]
        await settle(self.studio, [tool_ref(self.studio, step).server for step in calls])

    async def _level(self, scope: Scope) -> Json:
        """Run the top-level steps; those before the step to start with take their earlier results."""
        last, earlier = None, self._earlier
        if earlier and "vars" not in earlier:
            raise UsageError("The earlier run was too large to be stored with its values: begin at the first step.")
        before = [*zip(earlier.get("steps") or (), earlier.get("vars") or (), strict=False)]
        for at, node in enumerate(self.root.children):
            if at < (self._start or 0):
                one, variables = before[at] if at < len(before) else ({}, {})
                if node.step is None or one.get("step") != node.step.id:
                    raise UsageError(f"The earlier run did not come past {node.path}, so it cannot begin behind that.")
                last, scope["var"] = self._reuse(node, one, scope), dict(variables)
            else:
                last = await self.step(node, scope)
            self._vars.append(dict(scope["var"]))
        return last

    def _reuse(self, node: StepRun, earlier: dict[str, Json], scope: Scope) -> Json:
        """Take the results of a step, and of the steps in it, from the earlier run; returns the step's value."""
        for child, one in zip(node.children, earlier.get("steps") or (), strict=False):
            self._reuse(child, one, scope)
        node.state, node.output, node.ms = earlier["state"], earlier.get("output"), earlier.get("ms", 0.0)
        node.raw, node.inputs = mapping(self._earlier.get("raw")).get(node.path), earlier.get("inputs")
        node.error = StudioError(str(earlier["error"])) if "error" in earlier else None
        entry = self.studio.trace.entry(earlier.get("trace", 0))
        identity = node.step.id if node.step else ""
        node.span = entry.span if entry and (entry.direction, entry.target) == ("none", identity) else None
        if node.state != "skipped" or node.error:  # unless the earlier run did not choose it
            scope[identity] = node.result
        self.changed.emit(node)
        return node.output

    async def sequence(self, nodes: Sequence[StepRun], scope: Scope) -> Json:
        """Run steps in turn; returns the value of the last one."""
        value: Json = None
        for node in nodes:
            value = await self.step(node, scope)
        return value

    async def step(self, node: StepRun, scope: Scope) -> Json:
        """Run one step.

        Raises:
            StudioError: the step failed, and so does the step that contains it.
        """
        step = node.step
        assert step is not None
        if not self._go.is_set():
            await self._go.wait()
        self._begin(node)
        try:
            async with asyncio.timeout(None if step.kind == "call" else step.raw.get("timeout")):
                await self._EXECUTORS[step.kind](self, node, step, scope)
            self._end(node, "done")
        except asyncio.CancelledError:
            self._end(node, "cancelled")
            raise
        except TimeoutError:
            self._fail(node, step, scope, StudioError(f"It took longer than {step.raw.get('timeout', 0):g} s."))
        except StudioError as error:
            self._fail(node, step, scope, error)
        scope[step.id] = node.result
        return node.output

    def _fail(self, node: StepRun, step: Step, scope: Scope, error: StudioError) -> None:
        """Record a failure; raises it unless the step says that the run goes on."""
        node.error, node.output = error, None
        if step.kind == "assert":
            self.unmet = self.unmet or (node.path, error)
        if step.on_error == "stop":
            self.blamed = self.blamed if self.blamed and self.blamed.error is error else node
            self._end(node, "failed")
            raise error
        if step.on_error == "fallback" and step.fallback:
            node.output = step.fallback.value(scope)
            self._end(node, "done")
        else:
            self._end(node, "failed" if step.kind == "assert" else "skipped")

    async def _call(self, node: StepRun, step: Step, scope: Scope) -> None:
        ref = tool_ref(self.studio, step)
        node.inputs = arguments = mapping(step.value.value(scope)) if step.value else {}
        key = dumps([ref.server, ref.name, arguments]) if step.raw.get("cache") else b""
        if (raw := self._cache.get(key)) is None:
            tool = tool_of(self.studio.catalog.find(ref))
            profile = self.studio.caller.policy.profile(ref, tool, self.studio.manager.config(ref.server).trust)
            again = profile.repeatable
            raw = await self._engine.perform(self, node, again, partial(self._attempts, node, step, arguments, again))
            if key and len(self._cache) < _CACHED:
                self._cache[key] = raw
        large = node.call is not None and node.call.outcome is not None and node.call.outcome.size > _LARGE
        node.raw, node.output = raw, await asyncio.to_thread(value_of, raw) if large else value_of(raw)

    async def _attempts(self, node: StepRun, step: Step, arguments: dict[str, Json], again: bool) -> Json:
        """Call until the call succeeds, as often as the step allows and the tool may be repeated."""
        pause, retries = step.raw.get("backoff", 0.5), step.raw.get("retries", 0) if again else 0
        while True:
            outcome = await self._attempt(node, step, arguments)
            if isinstance(outcome, Succeeded):
                return outcome.result
            if not retries or isinstance(outcome, (Denied, Cancelled)):
                raise failure(outcome)
            await asyncio.sleep(pause)
            pause, retries = min(2 * pause, 60.0), retries - 1

    async def _attempt(self, node: StepRun, step: Step, arguments: dict[str, Json]) -> Any:
        studio, ref, seconds = self.studio, tool_ref(self.studio, step), step.raw.get("timeout")
        timeouts = Timeouts(None, seconds, seconds, "timeout") if seconds else Timeouts()
        call = studio.caller.call_tool(ref, arguments, origin="program", approved=self.approved, timeouts=timeouts)
        call.under = node.span.number if node.span else 0
        studio.registry.used(str(ref))
        node.call, node.attempts = call, node.attempts + 1
        disconnect = call.changed.connect(lambda one: self._show_state(node, one))
        try:
            return await call.join()
        finally:
            disconnect()

    def _show_state(self, node: StepRun, call: Call) -> None:
        state: RunState = "waiting" if call.asking else "running"
        if call.outcome is None and (node.state != state or call.progress):
            node.state = state
            self.changed.emit(node)

    async def _wait(self, node: StepRun, step: Step, scope: Scope) -> None:
        text = node.inputs = str(step.value.value(scope)) if step.value else ""
        node.output = await self._engine.perform(self, node, True, lambda: self.ask(node, text))

    async def ask(self, node: StepRun, text: str, *, always: bool = False) -> Json:
        """Wait for approval; returns the person's note.

        Args:
            always: ask even if everything was approved in advance.

        Raises:
            InputNeeded: nobody was there to decide.
            StudioError: a person refused.
        """
        if self.approved and not always:
            return {"by": "beforehand", "note": ""}
        node.state = "waiting"
        self.changed.emit(node)
        request = InputRequest("approval", "", text, subject=f"{self.workflow.name}: {node.path}", reasons=(text,))
        answer = await self.studio.inbox.ask(request)
        node.state = "running"
        if answer.action != "accept":
            refused = answer.action == "decline" and not answer.by.startswith("nobody")
            raise (StudioError if refused else InputNeeded)(f"{text} {answer.refusal.capitalize()}.")
        return {"by": answer.by or "you", "note": answer.note}

    async def _set(self, node: StepRun, step: Step, scope: Scope) -> None:
        node.output = node.inputs = step.value.value(scope) if step.value else {}
        scope["var"].update(node.output)

    async def _assert(self, node: StepRun, step: Step, scope: Scope) -> None:
        assert isinstance(step.condition, Expression)
        if not step.condition.value(scope):
            message = str(step.value.value(scope)) if step.value else "This is not so"
            raise AssertFailed(f"{message}: {step.condition.text}")
        node.output = True

    async def _do(self, node: StepRun, step: Step, scope: Scope) -> None:
        node.output = await self.sequence(node.children, scope)

    async def _choose(self, node: StepRun, step: Step, scope: Scope) -> None:
        assert isinstance(step.condition, Expression)
        chosen = "then" if step.condition.value(scope) else "else"
        node.inputs, count = chosen, len(step.parts["then"])
        branch, rest = node.children[:count], node.children[count:]
        if chosen == "else":
            branch, rest = rest, branch
        for one in rest:
            self._end(one, "skipped")
        node.output = await self.sequence(branch, scope)

    async def _parallel(self, node: StepRun, step: Step, scope: Scope) -> None:
        """Run branches at the same time, each with its own variables."""
        merge, branches = step.raw.get("merge", "all"), step.parts["parallel"]
        scopes = [_inner(scope) for _ in branches]
        pairs = zip(node.children, branches, scopes, strict=True)
        jobs = [Job((branch,), inner, partial(self.step, child, inner), child) for child, branch, inner in pairs]
        stop = {"all": "failure", "first": "success"}.get(merge, "")
        items = await self._engine.items(self, node, jobs, len(jobs), stop)
        wrong = [one for one in items if isinstance(one, StudioError)]
        children = {branch.id: child for branch, child in zip(branches, node.children, strict=True)}
        scope.update({name: child.result for name, child in children.items()})
        values = {name: child.output for name, child in children.items() if child.state in ("done", "skipped")}
        enough = {"all": len(branches), "first": 1}.get(merge, len(branches) // 2 + 1)
        if len(values) < enough:
            raise wrong[0] if wrong else StudioError("Too few branches have succeeded.")
        node.output = next(iter(values.values())) if merge == "first" else values

    async def _each(self, node: StepRun, step: Step, scope: Scope) -> None:
        items = step.condition.value(scope) if step.condition else None
        if not isinstance(items, list):
            raise StudioError(f"`each` needs a list, and {step.raw['each']} is not one.")
        node.total = len(items)
        do, scopes = step.parts["do"], [_inner(scope, item=item, index=at) for at, item in enumerate(items)]
        jobs = [Job(do, inner, partial(self.round, node, do, inner, at)) for at, inner in enumerate(scopes)]
        values = await self._engine.items(self, node, jobs, step.raw.get("concurrency", 1), "failure")
        if wrong := next((one for one in values if isinstance(one, StudioError)), None):
            raise wrong
        node.output = values
        for aggregate in step.parts.get("aggregate", ()):
            (child,) = self.nodes((aggregate,), node)
            node.children.append(child)
            node.output = await self.step(child, scope.new_child({"results": values}))

    async def _loop(self, node: StepRun, step: Step, scope: Scope) -> None:
        assert isinstance(step.condition, Expression)
        most, newest = step.raw.get("maximum", 100), deque[Json](maxlen=step.raw.get("keep", 1_000))
        inner = scope.new_child({"iteration": 0, "results": []})
        for at in range(most + 1):
            inner.maps[0].clear()
            inner.maps[0].update(iteration=at, results=list(newest))
            if not step.condition.value(inner):
                break
            if at == most:
                raise StudioError(f"After {most} rounds this is still so: {step.condition.text}")
            newest.append(await self.round(node, step.parts["do"], inner, at))
        node.output = list(newest)

    async def round(self, node: StepRun, steps: Sequence[Step], scope: Scope, at: int) -> Json:
        """Run the steps of one round or item."""
        child = StepRun(path=f"{node.path}[{at}]", index=at, inputs=scope.get("item"), above=node)
        node.children.append(child)
        try:
            return await self.part(child, steps, scope)
        finally:
            node.counts[child.state] += 1
            if len(node.children) > 2 * ROUNDS:
                node.children = _newest(node.children)

    async def part(self, node: StepRun, steps: Sequence[Step], scope: Scope) -> Json:
        """Run the steps of one round, item or branch."""
        node.children = self.nodes(steps, node)
        with self._execution(node):
            node.output = await self.sequence(node.children, scope)
        return node.output

    def note_end(self, node: StepRun, branch: StepRun | None, value: Json | StudioError) -> None:
        """Record the end of an item or branch that another engine has run."""
        state: RunState = "failed" if isinstance(value, StudioError) else "done"
        if branch is not None:
            branch.error, branch.output = (value, None) if isinstance(value, StudioError) else (None, value)
            return self._end(branch, state)
        node.counts[state] += 1
        self.changed.emit(node)

    # ------------------------------------------------------------------ states

    def nodes(self, steps: Sequence[Step], parent: StepRun) -> list[StepRun]:
        """The nodes of steps that have not begun; `each` and `loop` get theirs as they run."""
        before = f"{parent.path}." if parent.path else ""
        nodes = [StepRun(step, before + step.id, above=parent) for step in steps]
        for node, step in zip(nodes, steps, strict=True):
            if step.kind not in ("each", "loop"):
                node.children = self.nodes([one for key in _ORDER for one in step.parts.get(key, ())], node)
        return nodes

    @contextmanager
    def _execution(self, node: StepRun) -> Generator[None]:
        self._begin(node)
        try:
            yield
        except BaseException as error:
            node.error = error if isinstance(error, StudioError) else None
            self._end(node, "failed" if node.error else "cancelled")
            raise
        self._end(node, "done")

    def _begin(self, node: StepRun) -> None:
        node.state, node.began = "running", time.time()
        step, one_step = node.step, node.index is not None and len(node.children) == 1
        if self._engine.live and not one_step and (step is None or step.kind != "set"):
            kind, name = step.kind if step else "round" if node.path else "run", node.path.split(".")[-1].split("[")[0]
            params: dict[str, Json] = {"run": self.id, "path": node.path}
            if self.studio.config.settings.traceparent:
                params["_meta"] = {"traceparent": versions.fresh(self._trace).text}
            # The name has no number: the trace remembers every name.
            node.span = self.studio.trace.begin(f"workflow/{kind}", name or self.workflow.name, params, node.place)
        self.changed.emit(node)

    def _end(self, node: StepRun, state: RunState) -> None:
        node.state, node.above = state, None  # no further node refers to its parent
        if node.began:
            node.ms = (time.time() - node.began) * 1000
        if node.span is not None:
            answer: Json = {"error": {"message": node.error.message}} if node.error else {"result": {"state": state}}
            outcome = "cancelled" if state == "cancelled" else "error" if node.error else "ok"
            self.studio.trace.end(node.span, outcome, answer)
        self.changed.emit(node)

    def _top(self, identity: str) -> int:
        """The index of the top-level step that is, or contains, the step with this id."""
        for at, step in enumerate(self.workflow.steps):
            if any(one.id == identity for one in step.walk()):
                return at
        raise UsageError(f"{self.workflow.name} has no step {identity}.")

    _EXECUTORS: ClassVar[dict[str, Callable[[Run, StepRun, Step, Scope], Awaitable[None]]]] = {
        "call": _call, "parallel": _parallel, "choose": _choose, "each": _each, "loop": _loop, "set": _set,
        "assert": _assert, "wait": _wait, "do": _do,
    }  # fmt: skip


async def outcome_of(work: Work) -> Json:
    """Run work; returns its value or error as JSON."""
    try:
        return {"value": await work()}
    except StudioError as error:
        return {"error": packed(error)}


def packed(error: StudioError) -> dict[str, Json]:
    """An error as JSON."""
    return {"message": error.message, "hint": error.hint, "exit_code": error.exit_code}


def unpacked(error: Json) -> StudioError:
    """The error from its JSON."""
    found = StudioError(str(error["message"]), hint=str(error["hint"]))
    found.exit_code = int(error["exit_code"])
    return found


def unwrapped(outcome: Json) -> Json:
    """The value of an outcome.

    Raises:
        StudioError: the outcome is an error.
    """
    if "error" in outcome:
        raise unpacked(outcome["error"])
    return outcome["value"]


class _Enough(Exception):
    """No further job is needed."""


class Direct:
    """Executes everything in this process.

    Args:
        record: the stored results of an earlier run, by path: seconds and outcome. With a record nothing is called.
    """

    def __init__(self, record: Mapping[str, tuple[float, Json]] | None = None) -> None:
        self._record, self.live = record or {}, record is None

    async def perform(self, run: Run, node: StepRun, repeatable: bool, work: Work) -> Json:
        if self.live:
            return await work()
        if node.path not in self._record:
            raise StudioError(f"{node.path} was not done.")
        seconds, outcome = self._record[node.path]
        for one in (node, run.root):  # the node takes as long as it did then, and the run as long as all of its nodes
            one.began -= seconds
        return unwrapped(outcome)

    async def items(self, run: Run, node: StepRun, jobs: Sequence[Job], at_once: int, stop: str) -> Values:
        """Run as many jobs at a time as the step allows."""
        stop = stop if self.live or at_once == 1 else ""  # a replay needs every result
        found: Values = [None] * len(jobs)
        waiting = iter(range(len(jobs)))

        async def work() -> None:
            for at in waiting:
                try:
                    found[at] = await jobs[at].do()
                except StudioError as error:
                    found[at] = error
                if stop == ("failure" if isinstance(found[at], StudioError) else "success"):
                    raise _Enough

        try:
            async with asyncio.TaskGroup() as group:
                for _ in range(min(at_once, len(jobs))):
                    group.create_task(work())
        except* _Enough:
            pass
        return found


def _inner(scope: Scope, **names: Json) -> Scope:
    """The scope of one of several parts that run at the same time, with its own variables."""
    return scope.new_child({**names, "var": dict(scope["var"])})


def _newest(children: list[StepRun]) -> list[StepRun]:
    """The children that have not ended, the newest that have, and the newest that failed."""
    failed = [one for one in children if one.state == "failed"][-ROUNDS:]
    ended = [one for one in children if one.state in ENDED][-ROUNDS:]
    recent = {*map(id, failed), *map(id, ended)}
    return [one for one in children if one.state not in ENDED or id(one) in recent]


_ORDER = ("parallel", "then", "else", "do")
