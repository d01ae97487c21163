"""Watch mode: restart a server when its files change, and compare its offer and its answers."""

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
    """The result of a pinned call."""

    name: str
    """The name of the saved call."""
    verdict: Verdict
    said: str = ""
    """Why the call failed or was skipped; foreign text."""
    ms: float = 0.0
    differences: tuple[Difference, ...] = ()
    """The differences to the earlier answer."""
    accepted: str = ""
    """The change of the tool's definition, which this call accepted."""


class Round(NamedTuple):
    """One start of the server, compared with the start before."""

    server: str
    files: tuple[str, ...]
    """The changed files, as names for people."""
    ms: float
    """Milliseconds until the server was ready and listed, or had failed."""
    error: StudioError | None = None
    """The failure, with the last lines of standard error where the server ended."""
    changes: tuple[SurfaceChange, ...] = ()
    answers: tuple[PinnedAnswer, ...] = ()

    @property
    def breaking(self) -> tuple[SurfaceChange, ...]:
        """The changes that may break clients."""
        return tuple(change for change in self.changes if change.breaking)

    @property
    def other(self) -> tuple[PinnedAnswer, ...]:
        """Pinned calls with another answer than before."""
        return tuple(one for one in self.answers if one.verdict in ("differs", "failed"))

    @property
    def said(self) -> str:
        """The round in one sentence."""
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
    """Restarts one server repeatedly, and compares each time with the last time that it was ready."""

    caller: Caller
    folders: Folders
    """The folders of pinned calls."""
    server: str
    anywhere: bool = False
    """Whether pinned calls of other servers count too, where this server offers what they call."""
    approved: bool = False
    """Whether pinned calls need no further approval."""
    ignore: Ignore = USUAL
    """Differences in answers that do not count."""
    surface: Json = None
    """The last offer of the server, without secrets; None before the first one."""
    answers: dict[str, Json] = field(default_factory=dict[str, Json])
    """The last answers of pinned calls, by name, without secrets."""

    async def run(self, globs: Iterable[str] = (), *, calls: bool = True) -> AsyncGenerator[Round]:
        """Yield a round at once, then one for every change of files, as long as the server exists.

        Args:
            calls: makes the pinned calls in the first round too.

        Raises:
            UsageError: as `FileWatch`.
        """
        manager = self.caller.manager
        async with aclosing(FileWatch(manager.config(self.server), globs).changes()) as changes:
            async for files in changes:
                if self.server not in manager.names():
                    return
                if not files or manager.status(self.server).state != "disabled":  # a person disabled it
                    yield await self.round(files, calls=calls or bool(files))

    async def round(self, files: tuple[str, ...] = (), *, calls: bool = True) -> Round:
        """Restart the server if files have changed, wait for it, and compare; `calls` makes the pinned calls."""
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
                del self.answers[name]  # reported once
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
            self.caller.catalog.accept(ref)  # a developer of the server is told of the change, not asked
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
