"""Whole-schema checks in a separate process, which can be killed: a check may never end."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import sys
from asyncio.subprocess import DEVNULL, PIPE, Process
from pathlib import Path
from typing import Any

from mcp_studio.jsontext import Json, dumps
from mcp_studio.limits import DEFAULT, MB, Limits
from mcp_studio.schema.check import quick
from mcp_studio.schema.field import AS_JSON, Field, Form, Map, Number, Object, SchemaProblem, Text

_START = (
    "import sys, json; sys.path[:] = json.loads(sys.argv[1]); "
    "from mcp_studio.schema.validator import main; main(float(sys.argv[2]), int(sys.argv[3]))"
)
_HERE = str(Path(__file__).resolve().parents[2])
_LARGEST = 8 * MB
"""Bytes of a schema or value; a larger one is not checked."""
_ANSWER = 4 * MB
_OUT_OF_MEMORY = 86


_RULES = frozenset("allOf anyOf oneOf not if dependentSchemas dependentRequired dependencies $ref $dynamicRef".split())
"""Keywords by which a schema restricts its arguments further than their fields do."""


def _hides_more(field: Field | None) -> bool:
    """Whether a value may be wrong in ways that its field alone does not show."""
    if isinstance(field, Text):
        return bool(field.pattern)
    return field is None or isinstance(field, AS_JSON) or (isinstance(field, Number) and bool(field.multiple_of))


class _Gone(Exception):
    """No answer will come; the message says why."""


class Checker:
    """Checks values against JSON Schemas (2020-12, or the draft that `$schema` names), off the event loop.

    The process starts with the first check and serves all later ones. It never fetches the target of a `$ref`. A check
    that takes longer than `limits.check_time`, or more memory than `limits.check_memory`, is given up; its result is
    one warning. Anything else that prevents a check also results in a warning.
    """

    def __init__(self, limits: Limits = DEFAULT) -> None:
        self._limits = limits
        self._process: Process | None = None
        self._turn = asyncio.Lock()
        self._closed = False

    async def check(self, schema: Json, value: Json) -> tuple[SchemaProblem, ...]:
        """The problems of the value; empty when it is valid. The check may be cancelled at any time."""
        try:
            # Writing a large value takes time, so a thread does it and the loop goes on.
            frames = await asyncio.to_thread(lambda: (dumps(schema), dumps(value)))
        except (ValueError, RecursionError):
            return _unchecked("it cannot be written as JSON")
        if max(map(len, frames)) > _LARGEST:
            return _unchecked(f"it is larger than {_LARGEST // MB} MB")
        async with self._turn:
            try:
                return await self._exchange(*frames)
            except _Gone as problem:
                return _unchecked(str(problem))

    async def check_arguments(self, form: Form, arguments: dict[str, Json]) -> tuple[SchemaProblem, ...]:
        """The problems of arguments; asks the checking process only where the fields cannot tell."""
        schema, top = form.schema, form.root
        fits = not (arguments or form.fields) and isinstance(top, (Object, Map)) and not top.min_entries
        found = () if fits else quick(form, arguments)
        if isinstance(schema, dict) and (_RULES & schema.keys() or any(map(_hides_more, map(form.field, arguments)))):
            known = {one.pointer for one in found}
            whole = await self.check(schema, arguments)
            return (*found, *(one for one in whole if one.pointer not in known))
        return found

    async def close(self) -> None:
        """End the process; later checks fail."""
        self._closed = True
        await self._end()

    async def _exchange(self, schema: bytes, value: bytes) -> tuple[SchemaProblem, ...]:
        process = await self._ready_process()
        assert process.stdin
        process.stdin.write(dumps([len(schema), len(value)]) + b"\n" + schema + value)
        most = self._limits.check_time
        found: list[Any] = await self._answer(process, most, f"it takes longer than {most:g} s (limit check_time)")
        return tuple(SchemaProblem(pointer, message, severity) for pointer, message, severity in found)

    async def _ready_process(self) -> Process:
        """The checking process, started if necessary and ready."""
        if self._closed:
            raise _Gone("the studio is closing")
        if self._process is None:
            self._process = await _spawn(self._limits)
            await self._answer(self._process, self._limits.connect, "the checking process does not start")
        return self._process

    async def _answer(self, process: Process, seconds: float, too_slow: str) -> Any:
        """Read the next answer; without one, end the process, so that no later check reads this answer."""
        assert process.stdin and process.stdout
        line = b""
        try:
            async with asyncio.timeout(seconds):
                with contextlib.suppress(ConnectionError, ValueError):  # it has ended, or its answer is too long
                    await process.stdin.drain()
                    line = await process.stdout.readline()
        except TimeoutError:
            raise _Gone(too_slow) from None
        finally:
            if not line.endswith(b"\n"):
                await self._end()
        if line.endswith(b"\n"):
            return json.loads(line)
        if process.returncode == _OUT_OF_MEMORY:
            raise _Gone(f"it takes more than {self._limits.check_memory // MB} MB (limit check_memory)")
        raise _Gone("the checking process ended")

    async def _end(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            with contextlib.suppress(ProcessLookupError):
                process.kill()
            await process.wait()


async def _spawn(limits: Limits) -> Process:
    # Isolated from environment and folder; the process gets our search path, so it works for every kind of
    # installation.
    places = [_HERE, *(place for place in sys.path if os.path.isabs(place) and place != _HERE)]
    # The kernel's alarm is a second deadline: it also ends a check whose parent process was killed.
    arguments = (json.dumps(places), str(limits.check_time * 1.5), str(limits.check_memory))
    try:
        return await asyncio.create_subprocess_exec(
            sys.executable, "-I", "-S", "-c", _START, *arguments, stdin=PIPE, stdout=PIPE, stderr=DEVNULL, limit=_ANSWER
        )
    except OSError as problem:
        raise _Gone(f"the checking process cannot be started ({problem.strerror or problem})") from None


def _unchecked(why: str) -> tuple[SchemaProblem, ...]:
    return (SchemaProblem("", f"unchecked against the whole schema: {why}", "warning"),)
