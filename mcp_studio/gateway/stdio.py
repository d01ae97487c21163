"""The gateway on standard input and output: one client, which started it.

Threads read and write: whatever the client does with its end, the loop goes on, and the program can end.
"""

from __future__ import annotations

import asyncio
import os
import sys
import threading
from collections.abc import Callable
from contextlib import suppress

import anyio
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.shared.message import SessionMessage
from mcp_types import jsonrpc_message_adapter
from pydantic import ValidationError

from mcp_studio.gateway.server import GatewayServer

_LINES = 100
"""Messages that were read and wait for their turn."""


async def serve(server: GatewayServer, message: int) -> None:
    """Serve until the client closes its end.

    Args:
        message: bytes of one message that are read; a longer one ends it.
    """
    output = os.dup(1)
    os.dup2(2, 1)  # what anything prints goes to standard error and never between messages
    incoming, read = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    write, outgoing = anyio.create_memory_object_stream[SessionMessage](0)
    reading = asyncio.ensure_future(_read(incoming, message))
    writing = asyncio.ensure_future(_write(outgoing, output))
    try:
        await server.run(read, write, server.create_initialization_options())
        await asyncio.wait((writing,), timeout=1.0)
    finally:
        reading.cancel()
        writing.cancel()


async def _read(incoming: MemoryObjectSendStream[SessionMessage | Exception], most: int) -> None:
    lines: asyncio.Queue[bytes] = asyncio.Queue()
    turn = threading.Semaphore(_LINES)
    loop = asyncio.get_running_loop()

    def read() -> None:
        source = sys.stdin.buffer
        while True:
            turn.acquire()
            line = source.readline(most)
            with suppress(RuntimeError):  # the loop has ended
                loop.call_soon_threadsafe(lines.put_nowait, line)
            if not line.endswith(b"\n"):
                return

    _thread("reader", read)
    async with incoming:
        while (line := await lines.get()).endswith(b"\n"):
            turn.release()
            try:
                message = SessionMessage(jsonrpc_message_adapter.validate_json(line, by_name=False))
            except ValidationError as problem:
                await incoming.send(problem)
            else:
                await incoming.send(message)


async def _write(outgoing: MemoryObjectReceiveStream[SessionMessage], output: int) -> None:
    loop, box = asyncio.get_running_loop(), list[bytes]()
    wake, written = threading.Semaphore(0), asyncio.Semaphore(0)

    def write() -> None:
        while True:
            wake.acquire()
            data = memoryview(box.pop())
            try:
                while data:
                    data = data[os.write(output, data) :]
            except OSError:
                return  # the client is gone, which ends its input too
            with suppress(RuntimeError):
                loop.call_soon_threadsafe(written.release)

    _thread("writer", write)
    async with outgoing:
        async for one in outgoing:
            box.append(one.message.model_dump_json(by_alias=True, exclude_unset=True).encode() + b"\n")
            wake.release()
            await written.acquire()


def _thread(name: str, work: Callable[[], None]) -> None:
    threading.Thread(target=work, name=name, daemon=True).start()
