"""Scenarios of the official conformance suite for servers that need no tools of their own, on the gateway.

The suite shows no token: a small forwarder puts one into each request, and lets Host and Origin pass as they are.
"""

from __future__ import annotations

import socket
import subprocess
import threading
from collections.abc import Generator
from contextlib import contextmanager

import pytest

from tests.gateway.kit import Served, configured, on_http, raw
from tests.support import conformance_suite

SCENARIOS = (
    ("server-initialize", "2025-11-25"),
    ("server-session-lifecycle", "2025-11-25"),
    ("logging-set-level", "2025-11-25"),
    ("ping", "2025-11-25"),
    ("tools-list", "2025-11-25"),
    ("tools-list", "2026-07-28"),
    ("resources-list", "2026-07-28"),
    ("prompts-list", "2026-07-28"),
    ("dns-rebinding-protection", "2025-11-25"),
    ("dns-rebinding-protection", "2026-07-28"),
    ("caching", "2026-07-28"),
    ("http-header-validation", "2026-07-28"),
)


@contextmanager
def _forwarder(listening: socket.socket, port: int, token: str) -> Generator[None]:
    """Passes connections on, each with one request, and a token in it."""

    def copy(source: socket.socket, target: socket.socket) -> None:
        try:
            while data := source.recv(65536):
                target.sendall(data)
        except OSError:
            pass
        for one in (source, target):
            try:
                one.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass

    def serve(client: socket.socket) -> None:
        head = b""
        while b"\r\n\r\n" not in head:
            if not (data := client.recv(65536)):
                return client.close()
            head += data
        line, _, rest = head.partition(b"\r\n")
        kept = rest.replace(b"onnection: keep-alive", b"onnection: close")
        server = socket.create_connection(("127.0.0.1", port))
        server.sendall(line + f"\r\nAuthorization: Bearer {token}\r\n".encode() + kept)
        back = threading.Thread(target=copy, args=(server, client), daemon=True)
        back.start()
        copy(client, server)
        back.join()
        client.close()
        server.close()

    def accept() -> None:
        while True:
            try:
                client, _ = listening.accept()
            except OSError:
                return
            threading.Thread(target=serve, args=(client,), daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()
    try:
        yield
    finally:
        listening.close()


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Generator[str]:
    conformance_suite()
    home = tmp_path_factory.mktemp("conformance")
    listening = socket.create_server(("127.0.0.1", 0))
    own = listening.getsockname()[1]
    rules = f'mode = "all"\ncalls = 0\nhosts = ["127.0.0.1:{own}", "localhost:{own}"]'
    token = "t" * 20
    with on_http(
        configured(rules, home=home, all=raw("sdk_everything")),
        MCP_STUDIO_HOME=str(home),
        MCP_STUDIO_GATEWAY_TOKEN=token,
    ) as served:
        with _forwarder(listening, _port(served), token):
            yield f"http://127.0.0.1:{own}/mcp"


def _port(served: Served) -> int:
    return int(served.origin.rsplit(":", 1)[1])


@pytest.mark.parametrize(("scenario", "version"), SCENARIOS)
def test_a_scenario_for_servers(url: str, scenario: str, version: str) -> None:
    words = ["--url", url, "--scenario", scenario, "--spec-version", version]
    done = subprocess.run([*conformance_suite(), *words], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr
