"""Starts Python programs quickly: this process has already imported their libraries, and forks.

    forker.py NUMBER

NUMBER is the file descriptor of a listening socket. A client (forked.py) connects and sends its three streams and a
line of JSON that says what to run: `argv` (a file, or `-m` and a module, and their arguments), `env` and `cwd`. Each
byte after that is the number of a signal for the program. When the client hangs up, the program is ended; otherwise the
last byte sent to the client is the exit code. Functions that the program registers with `atexit` do not run. The forker
ends with SIGTERM, and when its standard input ends, because then the process that started it is gone.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import json
import os
import runpy
import select
import signal
import socket
import sys
import threading
import traceback
from os import _exit
from typing import NoReturn

IMPORTED = (
    *("mcp", "mcp.server.mcpserver", "mcp.server.streamable_http", "mcp.server.sse"),
    *("uvicorn", "uvicorn.lifespan.on", "uvicorn.protocols.http.auto", "starlette.applications", "sse_starlette"),
    *("rich.console", "rich.logging", "anyio._backends._asyncio", "argparse", "sdk_serving"),
    *("mcp_studio.studio", "mcp_studio.schema.form", "mcp_studio.transport.http", "mcp_studio.auth.signin", "httpx2"),
    *("mcp_studio.cli.engine", "mcp_studio.cli.terminal", "tomlkit"),
    *(
        f"mcp_studio.cli.verbs.{verb}"
        for verb in ("auth", "call", "config", "doctor", "listing", "registry", "search", "send", "trace")
    ),
    *("mcp_studio.servers.demo.tools", "mcp_studio.servers.mock.server", "mcp_studio.gateway.tap", "jsonschema"),
)
"""The slow modules that the programs of the tests import, as far as they are installed."""

_STREAMS = (("stdin", "r", -1, "strict"), ("stdout", "w", -1, "strict"), ("stderr", "w", 1, "backslashreplace"))


def main(listens: int) -> None:
    """Import the modules, and fork for each client."""
    with socket.socket(fileno=listens) as listening:
        gc.disable()
        for name in IMPORTED:
            with contextlib.suppress(ImportError):
                importlib.import_module(name)
        gc.freeze()
        gc.enable()
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        while sys.stdin not in select.select([listening, sys.stdin], [], [])[0]:
            line, _ = listening.accept()
            if os.fork() == 0:
                listening.close()
                _play(line)
            line.close()


def _play(line: socket.socket) -> None:
    """Run the program in this forked process; does not return."""
    code = 1
    try:
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        argv = _take(line)
        os._exit = lambda code: _leave(line, code)
        threading.Thread(target=_watch, args=(line,), daemon=True).start()
        if argv[0] == "-m":
            sys.argv = argv[1:]
            runpy.run_module(argv[1], run_name="__main__", alter_sys=True)
        else:
            runpy.run_path(argv[0], run_name="__main__")
        code = 0
    except SystemExit as left:
        code = left.code if isinstance(left.code, int) else 0 if left.code is None else 1
        if isinstance(left.code, str):
            print(left.code, file=sys.stderr)
    except BaseException:
        traceback.print_exc()
    finally:
        for stream in (sys.stdout, sys.stderr):
            with contextlib.suppress(OSError, ValueError):
                stream.flush()
        _leave(line, code)


def _leave(line: socket.socket, code: int) -> NoReturn:
    """Send the exit code and end at once."""
    with contextlib.suppress(OSError):
        line.send(bytes([code & 0xFF]))
    _exit(code)


def _take(line: socket.socket) -> list[str]:
    """Take over the streams, environment, folder and arguments of the client."""
    data, streams, _, _ = socket.recv_fds(line, 1 << 16, 3)
    while not data.endswith(b"\n"):
        if not (more := line.recv(1 << 16)):
            _exit(1)  # killed while it asked
        data += more
    wanted = json.loads(data)
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    # The old stream objects remember properties of the old files, such as whether they are seekable.
    for number, (name, mode, lines, errors) in enumerate(_STREAMS):
        fresh = open(number, mode, buffering=lines, encoding="utf-8", errors=errors, closefd=False)
        setattr(sys, name, fresh)
        setattr(sys, f"__{name}__", fresh)
    os.environ.clear()
    os.environ.update(wanted["env"])
    os.chdir(wanted["cwd"])
    sys.argv = wanted["argv"]
    beside = wanted["cwd"] if sys.argv[0] == "-m" else os.path.dirname(sys.argv[0])
    sys.path[:1] = [beside, *filter(None, wanted["env"].get("PYTHONPATH", "").split(os.pathsep))]
    return sys.argv


def _watch(line: socket.socket) -> None:
    """Pass signals on until the client hangs up."""
    while number := line.recv(1):
        os.kill(os.getpid(), number[0])
    _exit(1)


if __name__ == "__main__":
    main(int(sys.argv[1]))
