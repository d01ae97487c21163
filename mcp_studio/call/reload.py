"""Watch mode: a server is started again when its files change, and what it offers and answers is compared."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, Iterable, Mapping
from contextlib import aclosing
from dataclasses import field
from typing import NamedTuple

from mcp_studio.call.caller import Caller
from mcp_studio.call.copying.subject import Subject
from mcp_studio.call.history import OUTCOMES, said_of
from mcp_studio.call.replay.runner import Verdict, answer_of, comparable
from mcp_studio.call.saved import Folders, SavedCall, fill
from mcp_studio.catalog.surface import SurfaceChange, compare, surface_of
from mcp_studio.errors import StudioError, Unreachable
from mcp_studio.jsontext import Json, dumps, loads, mapping
from mcp_studio.record import record
from mcp_studio.sandbox.file_watch import FileWatch
from mcp_studio.schema.uritemplate import expand
from mcp_studio.trace.diff import USUAL, Difference, Ignore, diff


class PinnedAnswer(NamedTuple):
    """What came of a pinned call."""

    name: str
    """That of the saved call."""
    verdict: Verdict
    said: str = ""
    """Why it failed or was skipped; foreign text."""
    ms: float = 0.0
    differences: tuple[Difference, ...] = ()
    """Where the answer is not what it was."""
    accepted: str = ""
    """How the definition of its tool had changed, which this call has accepted."""


class Round(NamedTuple):
    """One start of the server, beside the one before."""

    server: str
    files: tuple[str, ...]
    """What has changed on disk, as names for people."""
    ms: float
    """Until it was ready and listed, or had failed."""
    error: StudioError | None = None
    """Why it is not ready, with its last lines on standard error where it has ended."""
    changes: tuple[SurfaceChange, ...] = ()
    answers: tuple[PinnedAnswer, ...] = ()

    @property
    def breaking(self) -> tuple[SurfaceChange, ...]:
        """What clients may fail at."""
        return tuple(change for change in self.changes if change.breaking)

    @property
    def other(self) -> tuple[PinnedAnswer, ...]:
        """Pinned calls that were not answered as before."""
        return tuple(one for one in self.answers if one.verdict in ("differs", "failed"))

    @property
    def said(self) -> str:
        """All of it in a sentence."""
        if self.error is not None:
            return f"{self.server} was started again and failed: {self.error.message}"
        said = "nothing that it offers has changed"
        for first in (*self.breaking, *self.changes)[:1]:
            said = f"{len(self.changes)} of what it offers changed, {len(self.breaking)} breaking: {first}"
        accepted = [one for one in self.answers if one.accepted]
        for what, some in (("Answered otherwise", self.other), ("Changed, and accepted by its call", accepted)):
            said += f". {what}: {', '.join(one.name for one in some)}" if some else ""
        return f"{self.server} was started again: {said}."


@record()
class Reloader:
    """Starts one server again and again, and compares each time with the last time that it was ready."""

    caller: Caller
    folders: Folders
    """Where pinned calls are."""
    server: str
    anywhere: bool = False
    """Pinned calls of other servers count, too, where this one offers what they call."""
    approved: bool = False
    """What would be asked about before pinned calls is approved already."""
    ignore: Ignore = USUAL
    """What may differ in their answers."""
    surface: Json = None
    """What it offered last, without secrets; None before there is anything to compare with."""
    answers: dict[str, Json] = field(default_factory=dict[str, Json])
    """What pinned calls were answered last, by name, without secrets."""

    async def run(self, globs: Iterable[str] = (), *, calls: bool = True) -> AsyncGenerator[Round]:
        """A round at once, then one for every change of files, as long as there is the server.

        Args:
            calls: make the pinned calls in the first round, too.

        Raises:
            UsageError: as `FileWatch`.
        """
        manager = self.caller.manager
        async with aclosing(FileWatch(manager.config(self.server), globs).changes()) as changes:
            async for files in changes:
                if self.server not in manager.names():
                    return
                if not files or manager.status(self.server).state != "disabled":  # which is a person's wish
                    yield await self.round(files, calls=calls or bool(files))

    async def round(self, files: tuple[str, ...] = (), *, calls: bool = True) -> Round:
        """Start it again where files have changed, wait for it, and compare; `calls`: make the pinned ones."""
        manager, server, began = self.caller.manager, self.server, time.perf_counter()
        if files:
            manager.restart(server)
        status = await manager.settle(server)
        await manager.listed(server)
        made = Round(server, files, (time.perf_counter() - began) * 1000)
        if status.state != "ready":
            made = made._replace(error=status.error or Unreachable(f"{server} is {status.state}."))
        else:
            now = self._without_secrets(surface_of(self.caller.catalog, server))
            changes = () if self.surface is None else await asyncio.to_thread(compare, mapping(self.surface), now)
            self.surface = now
            known = (await asyncio.to_thread(self.folders.load)).calls if calls else ()
            pinned = [saved for saved in known if saved.pinned and (self.anywhere or saved.ref.server == server)]
            answers = [await self._answered(one) for one in pinned]
            for name in self.answers.keys() - {one.name for one in pinned} if calls else ():
                del self.answers[name]  # it is told once
                answers.append(PinnedAnswer(name, "failed", "no pinned call of this name is there any more"))
            made = made._replace(changes=changes, answers=tuple(answers))
        if files:
            manager.supervisor(server).tap.note(made.said)
        return made

    async def _answered(self, saved: SavedCall) -> PinnedAnswer:
        ref = saved.ref._replace(server=self.server)
        if ref.kind != "resource" and not self.caller.catalog.find(ref):
            return PinnedAnswer(saved.name, "skipped", f"there is no {ref.kind} {ref.name}")
        if saved.references and not (self.approved or (ref == saved.ref and self.folders.agreed(saved))):
            return PinnedAnswer(saved.name, "skipped", "it uses secrets, and nobody has agreed to send them here")
        try:
            filled = await asyncio.to_thread(fill, saved)
            for secret in filled.secrets:
                self.caller.manager.redactor.learn(secret)
            values = mapping(filled.arguments)
            if ref.kind == "template":
                ref = ref._replace(kind="resource", name=expand(ref.name, values))
        except (StudioError, ValueError) as error:
            return PinnedAnswer(saved.name, "failed", str(error))
        changes = [entry.change for entry in self.caller.catalog.find(ref)]
        accepted = next((change.words for change in changes if change and change.unaccepted), "")
        if ref.kind == "tool":
            self.caller.catalog.accept(ref)  # whoever changes a server is not asked about that, but told
            call = self.caller.call_tool(ref, values, origin="person", approved=self.approved)
        else:
            request = Subject(ref, values)
            call = self.caller.start(ref, request.method, request.params, fresh=True)
        outcome = await call.join()
        made = PinnedAnswer(saved.name, "new", said_of(outcome), outcome.ms, (), accepted)
        if (answer := answer_of(outcome)) is None:
            return made._replace(verdict="failed", said=made.said or OUTCOMES[type(outcome)])
        now, before = self._without_secrets(answer), self.answers.get(saved.name)
        self.answers[saved.name] = now
        if before is None:
            return made
        found = await asyncio.to_thread(diff, *comparable(mapping(before), now), self.ignore)
        return made._replace(verdict="differs" if found else "same", differences=found)

    def _without_secrets(self, value: Mapping[str, Json]) -> dict[str, Json]:
        return mapping(loads(self.caller.manager.redactor.bytes(dumps(value))))
