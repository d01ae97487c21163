"""Headers that are generated for each request, for rotating tokens and signatures.

They come from a program that the server's entry names, or from a function of a program that embeds the studio.
"""

from __future__ import annotations

import asyncio
import math
import os
import time
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from datetime import datetime
from inspect import isawaitable
from typing import Any

from mcp_studio.config.model import ServerConfig
from mcp_studio.errors import StudioError
from mcp_studio.jsontext import loads, mapping
from mcp_studio.limits import KB, Limits
from mcp_studio.protocol.lines import Line, Oversize
from mcp_studio.transport.base import HeaderList, RequestContext
from mcp_studio.transport.edge import configured, merged
from mcp_studio.transport.guard import StartFailure, child_environment, guard
from mcp_studio.transport.http_errors import HttpUnreachable
from mcp_studio.transport.stdio import STDERR_LINE, LineReader, cannot_start, how_it_ended, last_words

HeaderFunction = Callable[[RequestContext], Mapping[str, str] | Awaitable[Mapping[str, str]]]
"""Generates headers for one request; they replace those of the configuration and of a sign-in with the same name."""
_PATIENCE = 10.0
"""The most seconds that a `headers_command` may take."""
_LARGEST = 256 * KB
"""The most bytes that it may print."""
_HINT = 'Try it in a terminal: it has to print {"headers": {"NAME": "VALUE"}}, and may add expires_in or expires_at.'


class HeadersCommand:
    """The `headers_command` of one entry as a `HeaderFunction`: its output is used until the end that it states.

    Args:
        limits: the command gets less time than connecting, so that its failure is reported and not a timeout.
        spawn: starts a task that outlives a request, because the next request may need its result.
    """

    def __init__(
        self, config: ServerConfig, limits: Limits, spawn: Callable[[Coroutine[Any, Any, None]], asyncio.Task[None]]
    ) -> None:
        self.config = config
        self._patience = min(_PATIENCE, (config.timeouts.connect or limits.connect) * 2 / 3)
        self._spawn = spawn
        self._cwd = os.path.abspath(config.cwd or ".")
        self.until = math.inf
        """When the headers expire, in epoch seconds; infinity if the output states no end."""
        self._headers: dict[str, str] | None = None
        self._problem: HttpUnreachable | None = None
        self._task: asyncio.Task[None] | None = None

    async def __call__(self, context: RequestContext) -> Mapping[str, str]:
        """The headers of the last output; the command runs again if they have expired or were refused.

        Raises:
            HttpUnreachable: the command could not be started, failed, or printed something else.
        """
        headers = self._headers
        if headers is None or time.time() >= self.until or set(headers.items()) <= set(context.refused):
            if self._task is None or self._task.done():
                self._headers, self._problem = None, self._failed("was stopped.")
                self._task = self._spawn(self._renew())
            await asyncio.wait((self._task,))  # a cancelled caller leaves the task running
        if self._headers is None and self._problem is not None:
            raise self._problem.with_traceback(None)
        return self._headers or {}

    async def _renew(self) -> None:
        try:
            self._headers, self.until = _read(await self._run())
        except HttpUnreachable as problem:
            self._problem = problem
        except (StudioError, ValueError, TypeError, OverflowError):
            self._problem = self._failed("printed what cannot be used.")

    async def _run(self) -> bytes:
        """Run the command, and return its standard output."""
        argv = self.config.headers_command
        output, errors, size = list[bytes](), deque[bytes](maxlen=20), 0
        try:
            child = await guard.spawn(argv, child_environment(self.config), self._cwd)
        except StartFailure as failure:
            raise self._failed(f"did not start: {cannot_start(failure, argv[0], self._cwd).message}") from None

        def take(line: Line) -> None:
            nonlocal size
            size += line.size if isinstance(line, Oversize) else len(line)
            if isinstance(line, Oversize) or size > _LARGEST:
                child.kill()
            else:
                output.append(line)

        try:
            os.close(child.stdin_fd)
            out = LineReader(child.stdout_fd, _LARGEST, take)
            err = LineReader(
                child.stderr_fd, STDERR_LINE, lambda line: errors.append(line if isinstance(line, bytes) else line.head)
            )
            await asyncio.wait((child.exited, out.ended, err.ended), timeout=self._patience)
            out.close()
            err.close()
        finally:
            finished = child.exited.done()
            child.release()
        if not finished or size > _LARGEST or (code := child.exited.result()) is None:
            what = f"printed more than {_LARGEST // KB} KB" if finished else f"did not end within {self._patience:g} s"
            raise self._failed(f"{what}.")
        if code:
            raise self._failed(f"{how_it_ended(code)}; it said last: {last_words(errors) or 'nothing'}")
        return b"\n".join(output)

    def _failed(self, what: str) -> HttpUnreachable:
        return HttpUnreachable(f"The headers_command of {self.config.name} {what}", hint=_HINT)


def _read(output: bytes) -> tuple[dict[str, str], float]:
    """The headers in the output, and when they expire."""
    document = mapping(loads(output))
    headers, life, end = mapping(document.get("headers")), document.get("expires_in"), document.get("expires_at")
    if not headers or not all(isinstance(value, str) for value in headers.values()):
        raise ValueError
    if life is not None:
        return headers, time.time() + life
    if isinstance(end, str):
        end = datetime.fromisoformat(end).timestamp()
    return headers, math.inf if end is None else float(end)


async def make_headers(
    config: ServerConfig,
    functions: Sequence[HeaderFunction],
    learn: Callable[[str, str], None],
    context: RequestContext,
) -> HeaderList:
    """The headers of one request.

    Args:
        functions: generate the headers; later ones replace earlier ones.
        learn: gets each value, because it is secret, and the series of secrets that it belongs to.

    Raises:
        StudioError: why there are no headers, in words.
    """
    lists: list[HeaderList] = []
    for function in functions:
        try:
            result = function(context)
            lists.append(configured(config, await result if isawaitable(result) else result))
        except StudioError:
            raise
        except Exception as problem:  # boundary: the function belongs to another program
            why = f"{type(problem).__name__}: {problem}"
            raise HttpUnreachable(f"No headers could be made for {config.name}: {why}.") from problem
        for _, value in lists[-1]:
            learn(value, f"headers of {config.name}")
    return merged(*lists)
