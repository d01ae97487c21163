"""What a tap adds to a call, over standard input and output and over HTTP.

    python -m tests.bench.tap [--count 2000] [--rounds 3]

Prints the milliseconds of one call at a time (median and 99 %), without and with the tap, as medians over rounds that
alternate; then the same for an answer of 1 MB.
"""

from __future__ import annotations

import argparse
import http.client
import json
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

TAP = [sys.executable, "-m", "mcp_studio", "tap", "--quiet"]
SERVER = """
import sys
big = '{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":"' + "x" * SIZE + '"}]}}\\n'
for line in sys.stdin:
    sys.stdout.write(big % line.split('"id":')[1].split(",")[0])
    sys.stdout.flush()
"""
CALL = '{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"echo","arguments":{"text":"hello"}}}'


@contextmanager
def by_pipe(size: int, *tap: str) -> Generator[Callable[[int], object]]:
    """Calls of a program."""
    argv = [*tap, *(["--"] if tap else []), sys.executable, "-c", SERVER.replace("SIZE", str(size))]
    process = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert process.stdin and process.stdout
    stdin, stdout = process.stdin, process.stdout

    def call(number: int) -> object:
        stdin.write((CALL % number).encode() + b"\n")
        stdin.flush()
        return stdout.readline()

    yield call
    stdin.close()
    process.wait(30)


class Handler(BaseHTTPRequestHandler):
    """Answers with a result of the server's size."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        text = "x" * getattr(self.server, "answer", 2)
        answer = json.dumps(
            {"jsonrpc": "2.0", "id": body["id"], "result": {"content": [{"type": "text", "text": text}]}}
        )
        head = f"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {len(answer)}\r\n\r\n"
        self.wfile.write((head + answer).encode())

    def log_message(self, format: str, *args: object) -> None:
        """Nothing."""


@contextmanager
def by_http(size: int, *tap: str) -> Generator[Callable[[int], object]]:
    """Calls of a server at a URL."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.answer = size  # type: ignore[attr-defined]
    threading.Thread(target=server.serve_forever, daemon=True).start()
    port, process = server.server_port, None
    if tap:
        url = f"http://127.0.0.1:{port}/mcp"
        process = subprocess.Popen([*tap, "--listen", "0", "--to", url], stdout=subprocess.PIPE, text=True)
        assert process.stdout
        port = int(process.stdout.readline().split(":")[2].split("/")[0])
    client = http.client.HTTPConnection("127.0.0.1", port)

    def call(number: int) -> object:
        client.request("POST", "/mcp", CALL % number, {"Content-Type": "application/json"})
        return client.getresponse().read()

    yield call
    client.close()
    server.shutdown()
    if process is not None:
        process.terminate()
        process.wait(30)


def measure(call: Callable[[int], object], count: int) -> tuple[float, float]:
    """Median and 99 % of the milliseconds of so many calls."""
    for number in range(20):
        call(number)
    times: list[float] = []
    for number in range(20, 20 + count):
        began = time.perf_counter()
        call(number)
        times.append((time.perf_counter() - began) * 1000)
    times.sort()
    return statistics.median(times), times[int(0.99 * (count - 1))]


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--count", type=int, default=2_000)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as home:
        os.environ["MCP_STUDIO_HOME"] = home
        for name, way in (("stdio", by_pipe), ("http", by_http)):
            for size, count in ((2, options.count), (1 << 20, options.count // 20)):
                found: dict[bool, list[tuple[float, float]]] = {False: [], True: []}
                for _ in range(options.rounds):
                    for tapped in (False, True):
                        with way(size, *(TAP if tapped else ())) as call:
                            found[tapped].append(measure(call, count))
                bare, more = (
                    [statistics.median(column) for column in zip(*found[kind], strict=True)] for kind in found
                )
                print(
                    f"{name:<6}{size:>8} B  bare {bare[0]:.3f} ms (p99 {bare[1]:.3f})  "
                    f"tap {more[0]:.3f} ms (p99 {more[1]:.3f})  adds {more[0] - bare[0]:.3f} ms"
                )
        assert Path(home, "state", "trace").is_dir()


if __name__ == "__main__":
    main()
