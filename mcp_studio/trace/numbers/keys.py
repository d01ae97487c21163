"""What figures are kept of, and which messages count for what."""

from __future__ import annotations

from collections import defaultdict
from typing import NamedTuple

from mcp_studio.trace.message import LISTEN, UNTIMED
from mcp_studio.trace.numbers.tally import Heap

NAMED = {"tools/call": "tool", "prompts/get": "prompt", "resources/read": "resource"}
"""Requests whose target has figures of its own, and what it is."""
OURS, THEIRS, NOTICE, LOOSE = range(4)
"""Requests of ours, of the server; notifications; answers to nothing."""


class Method(NamedTuple):
    """What a tally of methods is of."""

    server: str
    method: str
    theirs: bool = False
    """A request of the server."""
    notice: bool = False
    """A notification."""


class Target(NamedTuple):
    """What a tally of targets is of."""

    server: str
    method: str
    target: str


Key = str | Method | Target | None
"""What a tally is of: a server, a method, a target, or with None everything."""


def spread(sums: defaultdict[Key, Heap], heap: Heap, side: int, server: str, method: str, target: str) -> None:
    """Put what was found of one kind of message to everything that it counts for."""
    if method == LISTEN:
        heap.end_well()
    count = len(heap.times)
    whole, of_server = sums[None], sums[server]
    if side == OURS and method not in UNTIMED:
        whole.merge(heap)
        of_server.merge(heap)
    else:
        whole.weigh(heap)
        of_server.weigh(heap)
    of_server.notices += count if side == NOTICE else 0
    of_server.questions += count if side == THEIRS else 0
    if side != LOOSE:
        sums[Method(server, method, side == THEIRS, side == NOTICE)].merge(heap)
    if side == OURS and method in NAMED:
        sums[Target(server, method, target)].merge(heap)
