"""Every fault of the faulty server, over the bare transport: frames or an end with a reason, and closing in time."""

from __future__ import annotations

import json
import subprocess
import time
from pathlib import Path

import pytest

from mcp_studio.errors import ConnectionLost
from tests.support import python_server, wait_until
from tests.transport.stdio_kit import Ear, call, faulty, message, opened

SMALL = ("--count", "30", "--size", "300000", "--depth", "2000", "--delay", "0.1")
NAMES = subprocess.run(python_server("raw_faults", "--list"), capture_output=True, text=True, check=True).stdout.split()
MUTE = {"silent", "never-reads"}
"""Faults with which nothing at all can be awaited."""
META = {"_meta": {"io.modelcontextprotocol/protocolVersion": "2026-07-28"}}


def answered(ear: Ear, identity: int) -> bool:
    """Whether a response with this id has come."""
    for frame in ear.frames:
        try:
            value = json.loads(frame)
        except (ValueError, RecursionError):
            continue
        if isinstance(value, dict) and value.get("id") == identity and "method" not in value:
            return True
    return False


@pytest.mark.parametrize("fault", NAMES)
async def test_no_fault_keeps_the_transport_from_working_or_closing(fault: str) -> None:
    async with opened(faulty(fault, *SMALL), close=0.5, message=200_000) as (subject, ear):
        try:
            await subject.send(message("initialize", 1, protocolVersion="x", **META))
            await subject.send(message("tools/list", 2, **META))
            await subject.send(call(3, text="x"))
            await subject.send(message("resources/list", 4, **META))
        except ConnectionLost:
            assert ear.ends
        await wait_until(lambda: fault in MUTE or ear.ends or answered(ear, 4), what=f"life after {fault}")
        began = time.monotonic()
        await subject.close()
        assert time.monotonic() - began < 8
    assert len(ear.ends) <= 1


@pytest.mark.parametrize("era", ["legacy", "modern"])
async def test_without_a_fault_everything_is_answered(era: str) -> None:
    modern = era == "modern"
    async with opened(python_server("raw_faults", *(["--modern"] if modern else []))) as (subject, ear):
        await subject.send(message("server/discover" if modern else "initialize", 1, protocolVersion="x", **META))
        await subject.send(message("tools/list", 2, **META))
        await subject.send(message("tools/call", 3, name="echo", arguments={"text": "hi"}, **META))
        frames = [json.loads(frame) for frame in await ear.frames_are(3)]
        assert [frame["id"] for frame in frames] == [1, 2, 3]
        assert [frame["result"].get("resultType") for frame in frames] == [("complete" if modern else None)] * 3
        assert frames[2]["result"]["content"] == [{"type": "text", "text": "hi"}]


def test_every_fault_is_described() -> None:
    manual = Path(python_server("raw_faults")[1]).read_text(encoding="utf-8").split('"""')[1]
    words = manual.replace(",", " ").split()
    assert [name for name in NAMES if name not in words] == []
