"""The checking process: reads schemas and values from a pipe, answers with what is wrong, and may be killed any time.

One request is a line `[number, schema bytes, value bytes]` and then these bytes, both JSON; the answer is one line
`[number, [[pointer, message, severity], …]]`. It ends with its standard input, also when its owner was killed.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
from collections.abc import Callable
from typing import Any, BinaryIO

from mcp_studio.schema.whole import Checked, number

OUT_OF_MEMORY = 86
"""Exit status of a process that met its memory bound."""
_STACK = 64 * 1024 * 1024


def main(seconds: float, memory: int) -> None:
    """Serve until standard input ends; each check is ended by the kernel after `seconds`, and `memory` bounds all."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    output = os.fdopen(os.dup(1), "wb")
    _bound(memory)
    # Schemas that refer to themselves go deep: deeper than the main thread's stack is sure to hold.
    sys.setrecursionlimit(10_000)
    sys.set_int_max_str_digits(0)
    threading.stack_size(_STACK)
    worker = threading.Thread(target=_guarded, args=(lambda: _serve(sys.stdin.buffer, output, seconds),))
    worker.start()
    worker.join()


def _bound(memory: int) -> None:
    try:
        import resource
    except ImportError:  # Windows
        return
    for limit, most in ((resource.RLIMIT_AS, memory), (resource.RLIMIT_CORE, 0)):
        try:
            resource.setrlimit(limit, (most, most))
        except (ValueError, OSError):
            continue


def _guarded(serve: Callable[[], None]) -> None:
    try:
        serve()
    except MemoryError:
        os._exit(OUT_OF_MEMORY)
    except BrokenPipeError:
        os._exit(0)


def _serve(source: BinaryIO, output: BinaryIO, seconds: float) -> None:
    Checked(True).findings(None)  # what it imports is paid before the first check is timed
    _say(output, "ready")
    last: tuple[bytes, Checked | None] = (b"", None)
    while line := source.readline():
        count, schema_size, value_size = json.loads(line)
        schema, value = source.read(schema_size), source.read(value_size)
        if len(value) < value_size:
            return
        _alarm(seconds)
        checked = last[1] if last[0] == schema else None
        if checked is None:
            checked = Checked(loads(schema))
            last = (schema, checked)
        found = checked.findings(loads(value))
        _alarm(0)
        _say(output, [count, found])


def loads(data: bytes) -> Any:
    """JSON with every number exact: int and Decimal."""
    return json.loads(data, parse_float=number)


def _alarm(seconds: float) -> None:
    # Not a handler: Python code cannot run while a regular expression does. The default action ends the process.
    if hasattr(signal, "setitimer"):
        signal.setitimer(signal.ITIMER_REAL, seconds)


def _say(output: BinaryIO, answer: object) -> None:
    output.write(json.dumps(answer).encode() + b"\n")
    output.flush()
