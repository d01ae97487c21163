"""Whole-schema checks in a process of their own, which can be killed: a schema may hide a trap that never ends."""

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
from mcp_studio.schema.field import SchemaProblem

_START = (
    "import sys, json; sys.path[:] = json.loads(sys.argv[1]); "
    "from mcp_studio.schema.whole import main; main(float(sys.argv[2]), int(sys.argv[3]))"
)
_HERE = str(Path(__file__).resolve().parents[2])
_LARGEST = 8 * MB
"""Schema or value; a larger one is not checked."""
_ANSWER = 4 * MB
_LEAVE = 0.5
_OUT_OF_MEMORY = 86


class _Gone(Exception):
    """No answer will come; says why in words."""


class Checker:
    """Checks values against JSON Schemas (2020-12, or the draft that `$schema` names), off the event loop.

    The process starts with the first check and stays for the next. It never fetches what a `$ref` names. A check that
    takes longer than `limits.check_time`, or more memory than `limits.check_memory`, is given up: its answer is one
    warning. The same goes for anything else that keeps the check from being made.
    """

    def __init__(self, limits: Limits = DEFAULT) -> None:
        self._limits = limits
        self._process: Process | None = None
        self._ready = False
        self._sent = 0
        self._answered = 0
        self._turn = asyncio.Lock()
        self._closed = False

    async def check(self, schema: Json, value: Json) -> tuple[SchemaProblem, ...]:
        """What is wrong with the value; empty when nothing is. It may be cancelled at any time."""
        try:
            # Large values take their time: in a thread, so that the loop goes on.
            frames = await asyncio.to_thread(lambda: (dumps(schema), dumps(value)))
        except (ValueError, RecursionError):
            return _unchecked("it cannot be written as JSON")
        if max(map(len, frames)) > _LARGEST:
            return _unchecked(f"it is larger than {_LARGEST // MB} MB")
        async with self._turn:
            try:
                return await self._in_time(*frames)
            except _Gone as problem:
                return _unchecked(str(problem))

    async def close(self) -> None:
        """End the process; nothing is checked afterwards."""
        self._closed = True
        await self._end(_LEAVE)

    async def _in_time(self, schema: bytes, value: bytes) -> tuple[SchemaProblem, ...]:
        while True:
            process = await self._started()
            behind = self._sent > self._answered
            try:
                async with asyncio.timeout(self._limits.check_time):
                    return await self._exchange(process, schema, value)
            except TimeoutError:
                await self._end()
                if not behind:  # else it may have been busy with a check that nobody waits for any more
                    raise _Gone(f"it takes longer than {self._limits.check_time:g} s (limit check_time)") from None

    async def _started(self) -> Process:
        """The process, started if need be and ready to check."""
        if self._closed:
            raise _Gone("the studio is closing")
        if self._process is None:
            self._ready, self._sent, self._answered = False, 0, 0
            self._process = await _spawn(self._limits)
        process = self._process
        if not self._ready:
            try:
                async with asyncio.timeout(self._limits.connect):
                    await self._line(process)
            except TimeoutError:
                await self._end()
                raise _Gone("the checking process does not start") from None
            self._ready = True
        return process

    async def _exchange(self, process: Process, schema: bytes, value: bytes) -> tuple[SchemaProblem, ...]:
        assert process.stdin
        self._sent += 1
        number = self._sent
        process.stdin.write(dumps([number, len(schema), len(value)]) + b"\n" + schema + value)
        with contextlib.suppress(ConnectionError):  # its end is seen, and explained, when reading
            await process.stdin.drain()
        found: list[Any] = []
        while self._answered < number:
            self._answered, found = json.loads(await self._line(process))
        return tuple(SchemaProblem(pointer, message, severity) for pointer, message, severity in found)

    async def _line(self, process: Process) -> bytes:
        # Cancelled, a line that has come only in part stays in the reader: answers are never mixed up.
        assert process.stdout
        try:
            line = await process.stdout.readline()
        except ValueError:
            line = b""
        if not line.endswith(b"\n"):
            await self._end(_LEAVE)
            if process.returncode == _OUT_OF_MEMORY:
                raise _Gone(f"it takes more than {self._limits.check_memory // MB} MB (limit check_memory)")
            raise _Gone("the checking process ended")
        return line

    async def _end(self, patience: float = 0) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        assert process.stdin
        process.stdin.close()
        if not await _left(process, patience):
            with contextlib.suppress(ProcessLookupError):
                process.kill()
            await process.wait()


async def _left(process: Process, seconds: float) -> bool:
    """Whether the process has ended by itself within this time."""
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await process.wait()
    return process.returncode is not None


async def _spawn(limits: Limits) -> Process:
    # Isolated from environment and folder; it finds modules where we do, however we were installed.
    places = [_HERE, *(place for place in sys.path if os.path.isabs(place) and place != _HERE)]
    # The kernel's own alarm is the second one: it also ends a check whose owner was killed meanwhile.
    arguments = (json.dumps(places), str(limits.check_time * 1.5), str(limits.check_memory))
    try:
        return await asyncio.create_subprocess_exec(
            sys.executable, "-I", "-S", "-c", _START, *arguments, stdin=PIPE, stdout=PIPE, stderr=DEVNULL, limit=_ANSWER
        )
    except OSError as problem:
        raise _Gone(f"the checking process cannot be started ({problem.strerror or problem})") from None


def _unchecked(why: str) -> tuple[SchemaProblem, ...]:
    return (SchemaProblem("", f"unchecked against the whole schema: {why}", "warning"),)
