"""Clients that others wrote do through the gateway what their users do, in both eras.

`MCP_STUDIO_CLIENTS` is an environment with fastmcp and pydantic-ai, which `.ci/run` makes.
"""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

from tests.gateway.kit import configured, on_http

CLIENTS = os.environ.get("MCP_STUDIO_CLIENTS", "")


@pytest.mark.skipif(not CLIENTS, reason="MCP_STUDIO_CLIENTS names no environment with fastmcp and pydantic-ai")
@pytest.mark.parametrize("client", ["fastmcp", "pydantic_ai"])
def test_it_lists_calls_and_answers(client: str) -> None:
    script = Path(__file__).with_name("other_clients.py")
    with on_http(configured('mode = "all"\ncalls = 0')) as served:
        words = [f"{CLIENTS}/bin/python", script, client, served.url, served.token]
        done = subprocess.run(words, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    seen = json.loads(done.stdout)
    assert {"mcp__demo__find_books", "mcp__demo__order_book"} <= {*seen["tools"]}
    assert seen["asked"] == ["demo asks: Who is 'Slow Trains North' for?"] * 2
    assert "Salt and Starlight" in seen["found"] and "Ordered 1 of 'Slow Trains North' for Ada." in seen["ordered"]
    if client == "fastmcp":
        assert seen["failed"] == "The shop is closed on Sundays." and "Lantern" in seen["resource"]
        assert seen["progress"] >= 2 * 5 and seen["logged"].count("emergency") == 2
