"""Checks a workflow before it runs: names, order, tools, arguments; and lists the calls that it would make."""

from __future__ import annotations

import asyncio
import re
from collections import ChainMap
from collections.abc import Collection, Iterator, Sequence
from itertools import islice
from typing import Any, Literal, NamedTuple

from mcp_studio.call.policy import tool_of
from mcp_studio.catalog.catalog import suggestion
from mcp_studio.catalog.listing import Ref
from mcp_studio.errors import UsageError
from mcp_studio.jsontext import Json, mapping
from mcp_studio.protocol.views import ToolView
from mcp_studio.schema.check import quick
from mcp_studio.schema.field import errors
from mcp_studio.schema.form import build
from mcp_studio.schema.place import get_or_none, path_of
from mcp_studio.schema.text import key_of
from mcp_studio.studio import Studio
from mcp_studio.workflow.expression import Expression, ExpressionError, Name
from mcp_studio.workflow.model import LOCALS, Step, Workflow, WorkflowProblem

_LISTED = 20
"""How many items of one step have their calls listed."""
_MOST = 1_000
_INPUT = re.compile(r"\$?\{?input\.(\w+)\}?")
"""An argument that is exactly one input."""
Scope = ChainMap[str, Any]
"""The values of names in expressions; the innermost step's names come first."""


def check_names(workflow: Workflow) -> list[WorkflowProblem]:
    """Find names that are unknown where they are used, and inputs and variables that are never used."""
    return _Names(workflow).problems()


async def check(workflow: Workflow, studio: Studio) -> list[WorkflowProblem]:
    """Find all problems of a workflow; waits for the servers that it calls."""
    await settle(studio, workflow.servers)
    calls = (one for step in workflow.walk() if step.kind == "call" for one in _check_call(workflow, studio, step))
    problems = [*workflow.problems, *check_names(workflow), *calls]
    return sorted(dict.fromkeys(problems), key=lambda one: (one.line, one.column))


async def settle(studio: Studio, servers: Collection[str]) -> None:
    """Wait until these servers have listed their tools or failed: the tools' annotations decide what needs approval."""
    names = {*studio.manager.names()}
    targets = names & {*servers} if len(names) > 1 else names  # a single server is used, whatever the workflow calls it
    statuses = await asyncio.gather(*map(studio.manager.settle, targets))
    await asyncio.gather(*(studio.manager.listed(one.server) for one in statuses if one.state == "ready"))


def tool_ref(studio: Studio, step: Step) -> Ref:
    """The tool that a step calls.

    Raises:
        UsageError: there is no such server, or the step names none and there are several.
    """
    name, servers = str(step.raw["call"]), studio.manager.names()
    server, dot, tool = name.partition(".")
    if step.raw.get("server"):
        server, tool = str(step.raw["server"]), name
    elif len(servers) == 1 and server not in servers:  # a single server is the one, whatever the workflow calls it
        whole = Ref("tool", servers[0], name)
        server, tool = servers[0], tool if dot and not studio.catalog.find(whole) else name
    elif not dot:
        raise UsageError(f"{name} names no server.", hint='call = "SERVER.TOOL"')
    studio.manager.config(server)
    return Ref("tool", server, tool)


class _Names:
    """Walks a workflow in its order, and knows which names each step can use."""

    def __init__(self, workflow: Workflow) -> None:
        self._workflow = workflow
        self._problems: list[WorkflowProblem] = []
        self._references: set[tuple[str, str]] = set()
        self._ids = {step.id: step for step in workflow.walk() if step.named}
        self._order = {step.id: at for at, step in enumerate(workflow.walk())}
        sets = [step for step in workflow.walk() if step.kind == "set"]
        self._variables = {name: step for step in reversed(sets) for name in mapping(step.raw["set"])}
        """The first step that sets each variable."""
        inputs = workflow.inputs or {}
        self._inputs = mapping(inputs.get("properties"))
        self._open = "$ref" in inputs or (not self._inputs and inputs.get("additionalProperties", False) is not False)

    def problems(self) -> list[WorkflowProblem]:
        visible = self._steps(self._workflow.steps, frozenset())
        for expression, _ in self._workflow.output.expressions if self._workflow.output else ():
            self._names(expression, "", visible)
        names = {("input", name) for name in self._inputs} | {("var", name) for name in self._variables}
        for kind, name in sorted(names - self._references):
            step = self._variables[name] if kind == "var" else None
            place = self._workflow.place(step, *(("set",) if step else ("inputs", "properties")), name)
            message = f"The {'variable' if step else 'input'} {name} is not used."
            self._problems.append(
                WorkflowProblem(self._workflow.file, step.id if step else "", *place, message, "warning")
            )
        return self._problems

    def _steps(self, steps: Sequence[Step], visible: frozenset[str]) -> frozenset[str]:
        """Check consecutive steps; returns the names that can be used after them."""
        for step in steps:
            visible = self._step(step, visible)
        return visible

    def _step(self, step: Step, visible: frozenset[str]) -> frozenset[str]:
        inner = visible | {*LOCALS.get(step.kind, ())}
        for expression in step.expressions():
            own = step.kind == "loop" and expression is step.condition
            self._names(expression, step.id, inner if own else visible)
        after = visible
        for key, steps in step.parts.items():
            if key == "parallel":
                for branch in steps:
                    self._step(branch, visible)
                after |= {branch.id for branch in steps}
            elif step.kind in ("each", "loop"):
                self._steps(steps, visible | {"results"} if key == "aggregate" else inner)
            else:
                after |= self._steps(steps, after if step.kind == "do" else visible)
        return after | {step.id}

    def _names(self, expression: Expression, step: str, visible: frozenset[str]) -> None:
        for name in expression.names:
            if why := self._fault(name, step, visible):
                column = expression.column + name.column - 1
                self._problems.append(WorkflowProblem(self._workflow.file, step, expression.line, column, why))

    def _fault(self, name: Name, step: str, visible: frozenset[str]) -> str:
        first, *rest = name.path
        if first in ("input", "var"):
            member = rest[0] if rest else ""
            members = self._inputs.keys() if first == "input" else self._variables
            self._references |= {(first, member)} if member else {(first, one) for one in members}
            if not member or member in members or (first == "input" and self._open):
                return ""
            what = "There is no input" if first == "input" else "Nothing sets the variable"
            return f"{what} {member}.{suggestion(member, members)}"
        if first in visible:
            return ""
        if kinds := [kind for kind, names in LOCALS.items() if first in names]:
            return f"{first} means something inside {' or '.join(kinds)} only."
        if first not in self._ids:
            return f"There is no `{first}`.{suggestion(first, [*visible, 'input', 'var'])}"
        if any(one.id == step for one in self._ids[first].walk()):
            return f"{first} is not done here: this step is {'the same' if first == step else 'inside it'}."
        if self._order[first] > self._order.get(step, len(self._order)):
            if step in self._dependencies(first, set()):
                return f"{first} and {step} wait for each other: each uses what the other gives."
            return f"{first} is not done here: it comes later."
        return f"What {first} gives is not to be seen here: it is inside a step whose insides are its own."

    def _dependencies(self, identity: str, found: set[str]) -> set[str]:
        """The steps whose results a step uses, directly or indirectly."""
        for one in self._ids[identity].walk() if identity not in found else ():
            found.add(identity)
            for name in (name.path[0] for expression in one.expressions() for name in expression.names):
                if name in self._ids:
                    found |= {name} | self._dependencies(name, found)
        return found


def _check_call(workflow: Workflow, studio: Studio, step: Step) -> Iterator[WorkflowProblem]:
    """Find problems of a step's tool and its arguments."""

    def problem(message: str, severity: Literal["error", "warning"] = "error", *keys: str) -> WorkflowProblem:
        return WorkflowProblem(workflow.file, step.id, *workflow.place(step, *keys), message, severity)

    try:
        ref = tool_ref(studio, step)
    except UsageError as error:
        yield problem(f"{error.message} {error.hint}".rstrip())
        return
    status, entries = studio.manager.status(ref.server), studio.catalog.find(ref)
    tool = tool_of(entries)
    if tool is None:
        if status.state != "ready" and not entries:
            why = status.error.message if status.error else f"{ref.server} is {status.state}."
            yield problem(f"{ref} cannot be looked up: {why}", "warning")
        else:
            yield problem(studio.catalog.missing(ref).message)
        return
    trusted = studio.manager.config(ref.server).trust
    if step.raw.get("retries") and not studio.caller.policy.profile(ref, tool, trusted).repeatable:
        yield problem(f"{ref} is not retried: nothing says that it may be repeated.", "warning")
    yield from (problem(*one) for one in _arguments(workflow, step, ref, tool))


def _arguments(workflow: Workflow, step: Step, ref: Ref, tool: ToolView) -> Iterator[tuple[str, Any, *tuple[str, ...]]]:
    """Find arguments that do not fit the tool's schema; of expressions only those that are an input can be checked.

    Gives the message, its severity, and the keys of the place.
    """
    arguments, schema = mapping(step.raw.get("arguments")), mapping(tool.input_schema)
    dynamic = {within for one in (step.value,) if one for _, within in one.expressions}
    properties = mapping(schema.get("properties"))
    for problem in errors(quick(build(schema), arguments)):
        path = path_of(problem.pointer, arguments)
        value = get_or_none(arguments, path)
        if not (isinstance(value, str) and value in dynamic):
            keys = ("arguments", *(key for key in path if isinstance(key, str)))
            yield f"{ref}: {key_of(path) or 'arguments'} {problem.message}.", "error", *keys
    for key in arguments.keys() - properties.keys():
        closed = schema.get("additionalProperties", True) is False
        if closed or (properties and "additionalProperties" not in schema):
            severity = "error" if closed else "warning"
            yield f"{ref} has no argument {key}.{suggestion(key, properties)}", severity, "arguments", key
    types = mapping(mapping(workflow.inputs).get("properties"))
    for key, value in arguments.items():
        match = _INPUT.fullmatch(value) if isinstance(value, str) else None
        has, wants = (mapping(one).get("type") for one in (types.get(match[1]) if match else None, properties.get(key)))
        if isinstance(has, str) and isinstance(wants, str) and has != wants and (has, wants) != ("integer", "number"):
            yield f"{ref}: {key} must be of type {wants}, and that input is of type {has}.", "error", "arguments", key


class PlannedCall(NamedTuple):
    """A call that a run would make; an expression without a value before the run stays as it is written."""

    path: str
    tool: str
    arguments: Json
    only_if: str = ""
    """The conditions that the call depends on and whose value only the run will know."""


def planned(workflow: Workflow, studio: Studio, inputs: dict[str, Json]) -> list[PlannedCall]:
    """The calls of a run with all of its inputs, as far as they are known before it.

    Raises:
        UsageError: a step names a server that does not exist.
    """
    return [*islice(_planned(studio, workflow.steps, ChainMap({"input": inputs, "var": {}}), "", ""), _MOST)]


def _planned(studio: Studio, steps: Sequence[Step], scope: Scope, before: str, only_if: str) -> Iterator[PlannedCall]:
    for step in steps:
        path, inner, condition = f"{before}.{step.id}".lstrip("."), scope, _early_value(step, scope)
        if step.kind == "call":
            arguments = step.value.value(scope, partial=True) if step.value else {}
            yield PlannedCall(path, str(tool_ref(studio, step)), arguments, only_if)
        elif step.kind == "set" and step.value:
            scope["var"].update(step.value.value(scope, partial=True))
        elif step.kind == "each" and isinstance(condition, list):
            for at, item in enumerate(condition[:_LISTED]):
                inner = scope.new_child({"item": item, "index": at, "var": dict(scope["var"])})
                yield from _planned(studio, step.parts["do"], inner, f"{path}[{at}]", only_if)
            if len(condition) > _LISTED:
                yield PlannedCall(path, f"and {len(condition) - _LISTED:,} items more", None, only_if)
            yield from _planned(studio, step.parts.get("aggregate", ()), scope.new_child(), path, only_if)
        elif step.kind == "choose":
            for key in ("then", "else"):
                text = f"not ({step.raw['choose']})" if key == "else" else str(step.raw["choose"])
                why = " and ".join(filter(None, (only_if, "" if condition is not None else text)))
                if condition is None or bool(condition) == (key == "then"):
                    yield from _planned(studio, step.parts.get(key, ()), scope, path, why)
        else:
            if step.kind == "loop":
                inner = scope.new_child({"iteration": 0, "results": []})
            for part in step.parts.values():
                yield from _planned(studio, part, inner, path, only_if)


def _early_value(step: Step, scope: Scope) -> Json:
    """The value of a step's condition or items; None if only the run will know it."""
    try:
        return step.condition.value(scope) if step.condition else None
    except ExpressionError:
        return None
