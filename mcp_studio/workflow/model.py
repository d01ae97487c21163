"""Reads a workflow file, compares it with its schema, and builds its steps."""

from __future__ import annotations

import re
import tomllib
from collections import Counter
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any, Literal, NamedTuple

from mcp_studio.catalog.catalog import suggestion
from mcp_studio.errors import ConfigError, LimitExceeded
from mcp_studio.jsontext import Json, JsonProblem, dumps, items_of, loads, mapping
from mcp_studio.limits import MB
from mcp_studio.record import record
from mcp_studio.schema.check import quick
from mcp_studio.schema.field import Form, errors
from mcp_studio.schema.form import build
from mcp_studio.schema.place import path_of
from mcp_studio.schema.text import key_of
from mcp_studio.workflow.expression import Expression, ExpressionError, StepResult, Template

StepKind = Literal["call", "parallel", "choose", "each", "loop", "set", "assert", "wait", "do"]
OnError = Literal["stop", "skip", "fallback"]
_LARGEST = 8 * MB
_DEEPEST = 30
_MOST = 10_000
"""The most steps of a workflow."""

_ID = {"type": "string", "pattern": "^[A-Za-z_][A-Za-z0-9_]*$", "description": "The name of its result in expressions."}
_EXPRESSION = {"type": "string", "minLength": 1}
_STEPS = {"type": "array", "minItems": 1, "items": {"type": "object"}}
_ON_ERROR = {"enum": ["stop", "skip", "fallback"], "description": "What happens when a step fails."}
_COMMON: dict[str, Json] = {
    "id": _ID,
    "title": {"type": "string", "description": "A title for people."},
    "on_error": _ON_ERROR,
    "fallback": {"description": "Its value if it fails; may contain expressions."},
    "timeout": {"type": "number", "exclusiveMinimum": 0, "description": "Seconds; of a call for each attempt."},
}
_KINDS: dict[StepKind, dict[str, Json]] = {
    "call": {
        "call": {"type": "string", "minLength": 1, "description": "The tool, as SERVER.TOOL."},
        "server": {"type": "string", "description": "The server, if `call` has only the name."},
        "arguments": {"type": "object", "description": "$input.city is a value, ${input.city} part of a text."},
        "retries": {"type": "integer", "minimum": 0, "maximum": 20, "description": "For tools that may be repeated."},
        "backoff": {"type": "number", "minimum": 0, "maximum": 60, "description": "Seconds; doubled each time (0.5)."},
        "cache": {"type": "boolean", "description": "Make equal calls only once in a run."},
    },
    "parallel": {
        "parallel": {**_STEPS, "description": "Steps that run at the same time."},
        "merge": {"enum": ["all", "first", "majority"], "description": "How many of them have to succeed (all)."},
    },
    "choose": {
        "choose": {**_EXPRESSION, "description": "The condition."},
        "then": {**_STEPS, "description": "The steps if it is true."},
        "else": {**_STEPS, "description": "The steps if it is false."},
    },
    "each": {
        "each": {"type": ["string", "array"], "description": "The items; steps name one by `item` and `index`."},
        "do": {**_STEPS, "description": "The steps for each item."},
        "concurrency": {"type": "integer", "minimum": 1, "maximum": 1000, "description": "Items at the same time (1)."},
        "aggregate": {"type": "object", "description": "A step that combines `results`."},
    },
    "loop": {
        "loop": {**_EXPRESSION, "description": "Repeats while this is true; may use `iteration`, `results`."},
        "do": {**_STEPS, "description": "The steps of each round."},
        "maximum": {"type": "integer", "minimum": 1, "maximum": 1_000_000, "description": "The most rounds (100)."},
        "keep": {"type": "integer", "minimum": 0, "maximum": 100_000, "description": "Size of `results` (1000)."},
    },
    "set": {"set": {"type": "object", "description": "Variables and their values."}},
    "assert": {
        "assert": {**_EXPRESSION, "description": "The condition that has to be true."},
        "message": {"type": "string", "description": "The error if it is false."},
    },
    "wait": {"wait": {"type": "string", "minLength": 1, "description": "The text that a person has to approve."}},
    "do": {"do": {**_STEPS, "description": "Steps in sequence."}},
}
_TOP: dict[str, Json] = {
    "name": {"type": "string"},
    "description": {"type": "string"},
    "inputs": {"type": "object", "description": "A JSON Schema of an object."},
    "on_error": {**_ON_ERROR, "description": "The default for all steps (stop)."},
    "steps": _STEPS,
    "output": {"description": "The output; by default the value of the last step."},
    "$schema": {"type": "string"},
}
_PARTS = ("parallel", "then", "else", "do")
_TAKEN = "input var step item index iteration results true false null".split()
LOCALS: dict[str, tuple[str, ...]] = {"each": ("item", "index"), "loop": ("iteration", "results")}
"""The names that steps inside these kinds can use besides."""


def schema() -> dict[str, Json]:
    """The JSON Schema of workflow files."""
    step: Json = {"$ref": "#/$defs/step"}

    def shown(properties: Mapping[str, Json]) -> dict[str, Json]:
        parts = {key: dict(value) for key, value in properties.items()}
        for key in parts.keys() & {*_PARTS, "steps"}:
            parts[key]["items"] = step
        return parts | ({"aggregate": step} if "aggregate" in parts else {})

    def closed(properties: Mapping[str, Json], *required: str) -> dict[str, Json]:
        shape = {"type": "object", "additionalProperties": False}
        return {**shape, "required": [*required], "properties": shown(properties)}

    kinds = {kind: closed(_COMMON | own, *_required(kind)) for kind, own in _KINDS.items()}
    refs: Json = [{"$ref": f"#/$defs/{kind}"} for kind in kinds]
    head = {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "A workflow of mcp-studio"}
    return {**head, **closed(_TOP, "name", "steps"), "$defs": {"step": {"anyOf": refs}, **kinds}}


def _required(kind: StepKind) -> tuple[str, ...]:
    return {"choose": (kind, "then"), "each": (kind, "do"), "loop": (kind, "do")}.get(kind, (kind,))


@cache
def _form(kind: StepKind | None) -> Form:
    properties = _COMMON | _KINDS[kind] if kind else _TOP
    required: Json = [*_required(kind)] if kind else ["name", "steps"]
    return build({"type": "object", "properties": properties, "required": required})


class WorkflowProblem(NamedTuple):
    """A problem of a workflow, and its position; `line` and `column` count from 1, and are 0 if unknown."""

    file: str
    step: str
    line: int
    column: int
    message: str
    severity: Literal["error", "warning"] = "error"

    def __str__(self) -> str:
        where = f"{self.file}:{self.line}:{self.column}" if self.line else self.file
        return ": ".join(filter(None, (where, f"step {self.step}" if self.step else "", self.message)))


@record(eq=False)
class Step:
    """One step of a workflow, with the steps inside it."""

    id: str
    kind: StepKind
    line: int
    raw: dict[str, Json]
    named: bool
    """Whether the file gives the step a valid id, so that expressions can name it."""
    on_error: OnError
    condition: Expression | Template | None
    """The condition of choose, loop and assert; the items of each."""
    value: Template | None
    """The arguments of a call, the variables of a set, the text of a wait, the message of an assert."""
    fallback: Template | None
    parts: dict[str, tuple[Step, ...]]
    """The steps inside it, by key: parallel, then, else, do, aggregate."""

    @property
    def title(self) -> str:
        """The step's title, for people."""
        text = self.raw.get("title") or self.raw[self.kind]
        return text if isinstance(text, str) else " ".join((self.kind, *(text if self.kind == "set" else ())))

    def walk(self) -> Iterator[Step]:
        """The step and all steps inside it, in order."""
        yield self
        for steps in self.parts.values():
            for step in steps:
                yield from step.walk()

    def expressions(self) -> Iterator[Expression]:
        """The step's own expressions, without those of steps inside it."""
        for one in (self.condition, self.value, self.fallback):
            if isinstance(one, Expression):
                yield one
            elif one is not None:
                yield from (expression for expression, _ in one.expressions)


@record(eq=False)
class Workflow:
    """A plan over tools; a workflow whose problems include errors cannot run."""

    name: str
    description: str = ""
    inputs: dict[str, Json] | None = None
    """The JSON Schema of the inputs; None if the workflow takes none."""
    steps: tuple[Step, ...] = ()
    output: Template | None = None
    file: str = ""
    document: Json = None
    """The parsed file."""
    problems: tuple[WorkflowProblem, ...] = ()
    text: str = ""
    """The file's text; empty if the workflow was built without it."""

    @classmethod
    def load(cls, path: Path | str) -> Workflow:
        """Read a TOML or JSON file; mistakes in it are among the `problems`.

        Raises:
            ConfigError: the file cannot be read, or is neither.
        """
        file = str(path)
        try:
            data = Path(path).read_bytes()
        except OSError as problem:
            raise ConfigError(f"{file} cannot be read: {problem.strerror or problem}.", file=file) from None
        if len(data) > _LARGEST:
            raise ConfigError(f"{file} is larger than {_LARGEST // MB} MB.", file=file)
        text = data.decode("utf-8", "replace").replace("\r\n", "\n")
        try:
            document = loads(text) if file.endswith(".json") else tomllib.loads(text)
        except (JsonProblem, tomllib.TOMLDecodeError, RecursionError, LimitExceeded) as problem:
            raise ConfigError(f"{file} cannot be read: {str(problem).rstrip('.')}.", file=file) from None
        return cls.of(document, file, text)

    @classmethod
    def of(cls, document: Json, file: str = "", text: str = "") -> Workflow:
        """Build a workflow from its parsed file; `text` is the file's text, to find the positions of problems."""
        return _Reader(file, text, document).workflow()

    @property
    def errors(self) -> tuple[WorkflowProblem, ...]:
        """The problems because of which the workflow cannot run."""
        return tuple(one for one in self.problems if one.severity == "error")

    def walk(self) -> Iterator[Step]:
        """All steps, in order."""
        for step in self.steps:
            yield from step.walk()

    @property
    def servers(self) -> set[str]:
        """The names that the workflow uses for its tools' servers; for a tool without a server, the tool's name."""
        calls = (step.raw for step in self.walk() if step.kind == "call")
        return {str(raw.get("server") or str(raw["call"]).partition(".")[0]) for raw in calls}

    def place(self, step: Step | None, *keys: str) -> tuple[int, int]:
        """The line and column of the last of these keys, each of which follows the one before.

        Args:
            step: the step whose lines have the keys; without one, the file. The first line is the place if they are
                not there.
        """
        first = step.line if step else 1
        end = min((one.line for one in self.walk() if one.line > first), default=0) if step else 0
        text = "\n".join(self.text.split("\n")[first - 1 : end - 1 if end else None])
        if not first or not text:
            return 0, 0
        found = re.search(".*?".join(f"({_key(key)})" for key in keys), text, re.DOTALL)
        at = found.start(len(keys)) if found else 0
        return first + text.count("\n", 0, at), at - text.rfind("\n", 0, at)


def _key(name: str) -> str:
    """The pattern of a key in TOML or JSON: before a value or a further key, or the last of a table's header."""
    name = re.escape(name)
    return rf"""(?<![\w-]){name}(?=["']?\s*[=:.])|(?:(?<=\.)|(?<=\.["'])|(?<=\[)){name}(?=["']?\])"""


class _Reader:
    """Builds the steps of one document. It searches texts in the file in the order in which the file has them."""

    def __init__(self, file: str, text: str, document: Json) -> None:
        self._file, self._text, self._document = file, text, document
        self._problems: list[WorkflowProblem] = []
        self._positions: dict[str, int] = {}
        """The last found offset of each text."""
        self._ids: Counter[str] = Counter()
        self._count = self._found = self._begun = 0
        """How many steps were read; the offsets of the last found text, and of the newest step."""
        self._on_error: OnError = "stop"

    def workflow(self) -> Workflow:
        top = mapping(self._document)
        self._compare(top, None, "", 1)
        on_error = top.get("on_error")
        self._on_error = on_error if on_error in ("stop", "skip", "fallback") else "stop"
        inputs = top.get("inputs")
        if isinstance(inputs, dict) and not ({"properties", "$ref", "additionalProperties"} & inputs.keys()):
            hint = 'A JSON Schema is wanted: properties.city = { type = "string" }.'
            self._report("", self._place("inputs")[0], 1, f"inputs has no properties. {hint}")
            inputs = None
        steps = self._steps(top.get("steps"), "steps", 0)
        self._begun = 0
        output = self._template(top["output"], "output") if "output" in top else None
        for name, times in self._ids.items():
            if times > 1:
                self._report(name, self._place(name)[0], 1, f"{times} steps have the id {name}.")
        name, about = (value if isinstance(value := top.get(key), str) else "" for key in ("name", "description"))
        return Workflow(
            name or Path(self._file).stem, about, mapping(inputs) or None, steps, output, self._file, self._document,
            tuple(self._problems), self._text,
        )  # fmt: skip

    def _report(self, step: str, line: int, column: int, message: str) -> None:
        self._problems.append(WorkflowProblem(self._file, step, line, column if line else 0, message))

    def _place(self, text: str, begin: int = 0, *, take: bool = True, key: bool = False) -> tuple[int, int]:
        """The position of the next occurrence of a text after `begin` and after the last one found; 0 if there is none.

        `take` remembers the occurrence, so that it is not found again.
        """
        first = re.escape(text.split("\n", 1)[0] if text else " ")
        begin = max(begin, self._positions.get(text, -1) + 1)
        values = (f"(?<=[\"']){first}(?=[\"'])", re.escape(dumps(text).decode()[1:-1]), first)
        ways = map(re.compile, (_key(text),) if key else values)
        places = (way.search(self._text, at) for way in ways for at in (max(begin, self._begun), begin))
        if (found := next(filter(None, places), None)) is None:
            return 0, 0
        self._found, before = found.start(), self._text[: found.start()]
        if take:
            self._positions[text] = self._found
        return before.count("\n") + 1, len(before) - (before.rfind("\n") + 1) + 1

    def _compare(self, raw: dict[str, Json], kind: StepKind | None, step: str, line: int) -> bool:
        """Whether an object has the right keys, with values of the right types; reports what is wrong."""
        keys = _COMMON.keys() | _KINDS[kind].keys() if kind else _TOP.keys()
        before = len(self._problems)
        for key in raw.keys() - keys:
            at, column = self._place(key, self._positions.get(step, 0))
            self._report(step, at or line, column or 1, f"{key} is not known here.{suggestion(key, keys)}")
        for problem in errors(quick(_form(kind), raw)):
            where = key_of(path_of(problem.pointer, raw))
            self._report(step, line, 1, f"{where} {problem.message}.")
        return len(self._problems) == before

    def _steps(self, raw: Json, place: str, depth: int) -> tuple[Step, ...]:
        if depth > _DEEPEST:
            self._report(place, 0, 0, f"Steps are nested deeper than {_DEEPEST} levels.")
            return ()
        steps = (self._step(one, f"{place}[{at}]", depth) for at, one in enumerate(items_of(raw)))
        return tuple(step for step in steps if step is not None)

    def _step(self, value: Json, place: str, depth: int) -> Step | None:
        raw, self._count = mapping(value), self._count + 1
        label = raw.get("id")
        repeats = {"each", "loop"} & raw.keys()
        kinds: list[StepKind] = [kind for kind in _KINDS if kind in raw and not (kind == "do" and repeats)]
        name = label if isinstance(label, str) and re.fullmatch(_ID["pattern"], label) else place
        main = raw.get(kinds[0]) if kinds else None
        text = label if name == label else main if isinstance(main, str) else ""
        line = 0 if main is None or isinstance(main, str) else self._place(kinds[0], key=True)[0]
        line = self._place(text, take=text != main or "call" in raw)[0] if text else line
        self._begun = max(self._begun, self._found)
        if self._count > _MOST:
            wrong = self._report if self._count == _MOST + 1 else None
            return wrong and wrong(name, line, 1, f"There are more than {_MOST} steps.")
        if len(kinds) != 1:
            what = "has several kinds: " + ", ".join(kinds) if kinds else "has no kind: " + ", ".join(_KINDS)
            return self._report(name, line, 1, f"The step {what}.")
        kind = kinds[0]
        if not self._compare(raw, kind, name, line):
            return None
        if isinstance(label, str) and name != label:
            self._report(name, line, 1, f"{label!r} is no id: letters, digits and _ are, with no digit first.")
        if named := name == label:
            self._ids[name] += 1
            if name in _TAKEN:
                self._report(name, line, 1, f"No step can be called {name}: that is something else in expressions.")
        return self._built(raw, kind, name if named else f"{kind}-{self._count}", named, line, depth)

    def _built(self, raw: dict[str, Json], kind: StepKind, name: str, named: bool, line: int, depth: int) -> Step:
        condition: Expression | Template | None = None
        values: dict[str, Template | None] = {}
        parts: dict[str, tuple[Step, ...]] = {}
        for key, value in raw.items():  # in the order of the file
            if key == kind and kind in ("choose", "loop", "assert"):
                condition = self._expression(value, name)
            elif key == kind == "each":
                condition = self._expression(value, name) if isinstance(value, str) else self._template(value, name)
            elif key in ("arguments", "set", "wait", "message", "fallback"):
                values[key] = self._template(value, name)
            elif key in _PARTS:
                parts[key] = self._steps(value, f"{name}.{key}", depth + 1)
            elif key == "aggregate":
                parts[key] = tuple(filter(None, (self._step(value, f"{name}.{key}", depth + 1),)))
        fallback = values.pop("fallback", None)
        usual: OnError = "fallback" if fallback else "stop" if self._on_error == "fallback" else self._on_error
        on_error: OnError = raw.get("on_error", usual)
        if on_error == "fallback" and fallback is None:
            self._report(name, line, 1, "on_error is fallback, and there is no fallback.")
        main = next(iter(values.values()), None)
        return Step(name, kind, line, raw, named, on_error, condition, main, fallback, parts)

    def _expression(self, text: str, step: str) -> Expression | None:
        line, column = self._place(text)
        try:
            expression = Expression(text)
        except ExpressionError as error:
            return self._report(step, line, column + error.column - 1, error.message)
        expression.line, expression.column = line, column
        return expression

    def _template(self, raw: Json, step: str) -> Template | None:
        try:
            template = Template(raw)
        except ExpressionError as error:
            line, column = self._place(within := error.detail["within"])
            start = max(within.find(error.detail["text"]), 0)
            return self._report(step, line, column + start + error.column - 1, f"{error.message} {error.hint}".rstrip())
        places: dict[str, tuple[int, int]] = {}
        for expression, within in template.expressions:
            line, column = places.get(within) or places.setdefault(within, self._place(within))
            expression.line, expression.column = line, column + max(within.find(expression.text), 0)
        return template


def value_of(result: Any) -> Json:
    """The value of a tool's result in expressions: the structured content, else the text, parsed if it is JSON."""
    answer = mapping(result)
    if "structuredContent" in answer:
        return answer["structuredContent"]
    text = StepResult(raw=answer).text
    try:
        return loads(text)
    except (ValueError, LimitExceeded):
        return text or answer.get("content")
