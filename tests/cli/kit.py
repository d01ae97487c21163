"""Running the command line as people and scripts do: as a process of its own, forked where many tests run."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.request import HTTPRedirectHandler, build_opener

from tests.support import ROOT, ended, python_server

RAW = python_server("raw_server")
"""A small server with echo, add, wait, count, fail, ask, a resource, a template and a prompt."""


@dataclass(frozen=True)
class Done:
    """How a command line ended."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """The envelope."""
        return json.loads(self.out)


Cli = Callable[..., Done]


def environment(**more: str) -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(ROOT), **more}


def argv(*words: str) -> list[str]:
    """The argv of a command line of ours."""
    return [sys.executable, "-m", "mcp_studio", *words]


def cli(*words: str, given: str | bytes = b"", cwd: Path | None = None, **env: str) -> Done:
    """Run a command line to its end, without a terminal."""
    data = given.encode() if isinstance(given, str) else given
    done = ended(["-m", "mcp_studio", *words], data, cwd=cwd or ROOT, env=environment(**env))
    return Done(done.returncode, done.stdout.decode(), done.stderr.decode())


def raw(*words: str, given: str | bytes = b"", **env: str) -> Done:
    """Run a command line on the small server."""
    return cli(*words, "--", *RAW, given=given, **env)


def faulty(fault: str, *words: str, options: tuple[str, ...] = ()) -> Done:
    """Run a command line on a server with one fault."""
    return cli(*words, "--", *python_server("raw_faults", "--fault", fault, *options))


class _Stay(HTTPRedirectHandler):
    def redirect_request(self, req: Any, fp: Any, code: int, msg: str, headers: Any, newurl: str) -> None:
        return None


def ends_at(url: str) -> str:
    """Where a browser is sent to from a page, without going there."""
    try:
        with build_opener(_Stay).open(url, timeout=60) as answer:
            return str(answer.url)
    except HTTPError as answer:
        with answer:
            return str(answer.headers["location"])
