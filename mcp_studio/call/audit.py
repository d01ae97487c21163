"""The audit log: a line for every requested tool call, with its verdict and its outcome."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Iterator
from pathlib import Path

from mcp_studio.call.call import OUTCOMES, Call, CallOutcome, Succeeded, said_of
from mcp_studio.call.history import LARGEST_ENTRY
from mcp_studio.call.policy import Judgement, Origin
from mcp_studio.jsontext import Json, dumps, loads_or, mapping
from mcp_studio.limits import MB
from mcp_studio.redact import Redactor

_ASIDE = 8
"""Older files that are kept beside the present one."""
_MOMENT = 0.1
"""Seconds for which the lines of a burst of calls are collected."""


class Audit:
    """Writes calls to `audit.jsonl`, in order; methods that read or write block for a moment.

    Args:
        front_end: the name of the front end, such as `command line`.
        largest: bytes of one file; a larger file is renamed by its time.
    """

    def __init__(self, file: Path, redactor: Redactor, front_end: str, largest: int = 16 * MB) -> None:
        self.file = file
        self._redactor = redactor
        self._begin: dict[str, Json] = {"by": front_end, "process": os.getpid()}
        self._largest = largest
        self._handle = -1
        self._lines: list[dict[str, Json]] = []
        self._timer: asyncio.TimerHandle | None = None
        """Runs for a moment after each write."""
        self._problem: str | None = None
        """The first problem with the file; an empty text once it was reported."""

    def add(self, call: Call, outcome: CallOutcome, origin: Origin, judgement: Judgement) -> str:
        """Write the line of a call that has ended; it waits a moment if other lines were just written.

        If the disk refuses, lines are lost. The first time, a sentence about that is returned.
        """
        self._lines.append({
            "time": round(time.time(), 3), "who": origin, **self._begin,
            "server": call.ref.server, "tool": call.ref.name, "arguments": call.params.get("arguments"),
            "verdict": judgement.verdict, "rule": judgement.rule, "risk": judgement.risk, "approved": call.approved_by,
            "outcome": OUTCOMES[type(outcome)], "said": "" if isinstance(outcome, Succeeded) else said_of(outcome),
            "ms": round(outcome.ms, 1), "tried": [one._asdict() for one in call.tried],
        })  # fmt: skip
        if self._timer is None:
            self._write()
        told, self._problem = self._problem, self._problem and ""
        return told or ""

    def _write(self) -> None:
        lines, self._lines, self._timer = self._lines, [], None
        if not lines:
            return
        self._timer = asyncio.get_running_loop().call_later(_MOMENT, self._write)
        try:
            if self._handle < 0:
                self.file.parent.mkdir(parents=True, exist_ok=True)
                self._handle = os.open(self.file, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
            texts = [dumps(line) for line in lines]
            for at, text in enumerate(texts):
                if len(text) > LARGEST_ENTRY:
                    texts[at] = dumps({**lines[at], "arguments": None, "large": True})
            os.write(self._handle, self._redactor.bytes(b"\n".join((*texts, b""))))
            if os.fstat(self._handle).st_size > self._largest:
                self.close()
                self.file.replace(self.file.with_name(f"{self.file.stem}-{time.time_ns()}.jsonl"))
                for old in self._aside()[:-_ASIDE]:
                    old.unlink(missing_ok=True)
        except OSError as error:
            if self._problem is None:
                self._problem = f"Calls are not written into the audit log {self.file}: {error.strerror or error}."

    def close(self) -> None:
        """Write the rest and close the file; the next line opens it again."""
        self._write()
        if self._handle >= 0:
            os.close(self._handle)
            self._handle = -1

    def lines(self) -> Iterator[dict[str, Json]]:
        """All lines, oldest first, without incomplete ones."""
        self._write()
        for file in filter(Path.is_file, (*self._aside(), self.file)):
            with file.open("rb") as stream:
                yield from filter(None, (mapping(loads_or(line)) for line in stream))

    def _aside(self) -> list[Path]:
        return sorted(self.file.parent.glob(f"{self.file.stem}-*.jsonl"))
