"""What `search` is about: which servers, what is looked for and how; all told before anything is started."""

from __future__ import annotations

import asyncio
import gc
import unicodedata
from collections.abc import Coroutine
from dataclasses import replace
from importlib import import_module
from typing import TYPE_CHECKING, Any

from mcp_studio.catalog.ref import KINDS
from mcp_studio.cli.options import Options
from mcp_studio.cli.plan import Plan
from mcp_studio.cli.targets import select
from mcp_studio.config.model import Config
from mcp_studio.config.nearest import nearest
from mcp_studio.errors import StudioError, UsageError
from mcp_studio.safetext import safe
from mcp_studio.search import auto
from mcp_studio.search.method import SearchProblem
from mcp_studio.search.methods import OWN
from mcp_studio.search.plugins import entry_points
from mcp_studio.search.regex import compiled

if TYPE_CHECKING:
    from mcp_studio.cli.output import Output
    from mcp_studio.search.found import Found
    from mcp_studio.studio import Studio

MOST = 1_000
"""Hits that can be asked for."""
USUAL = 20
_SHOWN = 60
"""Characters of a pattern that are shown before the place where it is wrong."""
MEANT = ("semantic", "hybrid")
"""Methods for which it has to be known what entries mean; that takes long, the first time."""
_TOLD, _NEWS = 1.0, 0.5
"""Seconds after which waiting is told of; between one telling and the next, on a terminal."""


def planned(options: Options, config: Config) -> Plan:
    """Read the words of `search`: the plan's name is what is looked for, its verb says how.

    Raises:
        UsageError: no such server, kind or method; the method is not installed; a pattern is none.
    """
    text = " ".join(options.words)
    options.count("--limit", MOST)
    for kind in options.values("--kind"):
        if kind not in KINDS:
            raise UsageError(f"--kind: must be one of {', '.join(KINDS)}, not `{kind}`.", hint=nearest(kind, KINDS))
    method = method_of(options, config)
    try:
        _check(method)
    except UsageError as problem:
        if options.value("--method"):
            raise
        raise UsageError(f"`[search] method` in the configuration: {problem.message}", hint=problem.hint) from None
    if method == "regex" and text:
        _check_pattern(text)
    names = options.values("--server")
    if not options.flag("--offline"):
        return Plan(select(config, names), name=text)
    known = select(config, names or list(config.servers))  # also those that are disabled: nothing is started
    servers = {name: replace(server, enabled=False) for name, server in known.servers.items()}
    return Plan(replace(known, servers=servers), name=text, connects=False)


def method_of(options: Options, config: Config) -> str:
    """How is searched: as said, else as configured."""
    return options.value("--method") or config.settings.search_method


async def meant(asked: Coroutine[Any, Any, Found], studio: Studio, out: Output, seconds: float | None) -> Found:
    """Wait for an answer that takes as long as finding out what entries mean, and tell how far that is.

    Args:
        seconds: it may take; None for as long as it takes.

    Raises:
        StudioError: it took longer.
    """
    task = asyncio.ensure_future(asked)
    try:
        async with asyncio.timeout(seconds):
            await asyncio.wait((task,), timeout=_TOLD)
            if not task.done():
                gc.enable()  # it is off while small verbs run
                out.note("What entries mean is being found out. It is kept: the next search need not wait for it.")
            while not task.done():
                done, all = studio.index.vectors
                out.passing(f"{done:,} of {all:,}")
                await asyncio.wait((task,), timeout=_NEWS)
            return task.result()
    except TimeoutError:
        done, all = studio.index.vectors
        much = f"{done:,} of {all:,}" if done else "none"
        said = f"What entries mean was not found out within {seconds:g} seconds: it is known of {much}."
        raise StudioError(said, hint="What is known is kept: the next search goes on from there.") from None
    finally:
        task.cancel()
        out.passing("")


def _check(method: str) -> None:
    known = [auto.NAME, *(name for name, _, _ in OWN)]
    if method not in known:
        known += sorted(entry_points(known))
    if method not in known:
        hint = " ".join(filter(None, (nearest(method, known), f"There are {', '.join(known)}.")))
        raise UsageError(f"There is no search method `{method}`.", hint=hint)
    if method in MEANT:
        fine, why = import_module("mcp_studio.search.model").available()
        if not fine:
            raise UsageError(why)


def _check_pattern(text: str) -> None:
    try:
        compiled(text)
    except SearchProblem as problem:
        if problem.at is None:
            raise
        start = max(0, problem.at - _SHOWN)
        before, after = safe(text[start : problem.at]), safe(text[problem.at : problem.at + _SHOWN // 2])
        more = "…" if start else ""
        caret = " " * _cells(more + before) + "^"
        raise UsageError(problem.message, hint=f"{more}{before}{after}\n{caret}") from None


def _cells(text: str) -> int:
    """How many cells of a terminal a text takes up."""
    return sum(2 if unicodedata.east_asian_width(char) in "WF" else 1 for char in text)
