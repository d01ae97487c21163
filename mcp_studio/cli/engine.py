"""Running the engine for one verb: signals, questions, and an orderly end however it is left."""

from __future__ import annotations

import asyncio
import logging
import signal
from collections.abc import Awaitable, Callable
from contextlib import ExitStack, suppress

from mcp_studio.call.call import Call, CallOutcome, Lost
from mcp_studio.catalog.catalog import suggestion
from mcp_studio.catalog.listing import EntryKind, Ref
from mcp_studio.cli import late
from mcp_studio.cli.asking import Asker
from mcp_studio.cli.output import Output
from mcp_studio.cli.plan import Outdated, Plan, ambiguous
from mcp_studio.cli.terminal import restore
from mcp_studio.config.table import nearest
from mcp_studio.errors import Unreachable, UsageError
from mcp_studio.paths import Paths
from mcp_studio.protocol.core import progress_text
from mcp_studio.session.logs import LogMessage, rank_of
from mcp_studio.session.state import Status
from mcp_studio.studio import Studio
from mcp_studio.transport.guard_start import process as guard

INTERRUPTED = 130
_CANCELLING = 2.0
"""Seconds for telling a server that its call is cancelled."""
_BETWEEN = 1 / 9
"""Seconds between two lines of progress: nine, and the last one, are ten in any second."""

Body = Callable[[Studio], Awaitable[int]]


def execute(plan: Plan, out: Output, body: Body, *, asker: Asker | None = None) -> int:
    """Open the studio on the plan's servers, run `body` in it, close everything; returns the exit code.

    With an `asker`, servers may ask for input and calls for approval. In a shell the studio is open already, and stays.
    """
    if out.shell is not None:
        try:
            return out.shell.run(lambda studio: _within(studio, out, body, asker), out)
        except KeyboardInterrupt:
            restore()
            out.interrupted()
            return INTERRUPTED
    logging.lastResort = logging.NullHandler()  # narration is ours alone; what is logged is for the log of the studio
    ended: list[int] = []

    async def session() -> int:
        task = asyncio.current_task()
        loop = asyncio.get_running_loop()
        for name in ("SIGTERM", "SIGHUP"):
            if task is not None and (number := getattr(signal, name, None)) is not None:
                with suppress(NotImplementedError):  # Windows
                    loop.add_signal_handler(number, _end, task, ended, 128 + number)
        async with Studio.open(
            plan.config, Paths.default(), can_ask=asker is not None, origin="command line"
        ) as studio:
            return await _within(studio, out, body, asker)

    try:
        with asyncio.Runner() as runner:
            return runner.run(session())
    except (KeyboardInterrupt, asyncio.CancelledError):
        restore()
        out.interrupted()
        return ended[0] if ended else INTERRUPTED
    finally:
        guard.drop_ahead()


async def _within(studio: Studio, out: Output, body: Body, asker: Asker | None) -> int:
    """Run a verb in an open studio, and leave nothing of it behind there."""
    with ExitStack() as ends:
        ends.callback(studio.trace.troubled.connect(out.note))
        out.redactor, out.manager = studio.redactor, studio.manager
        # Also a verb that answers no questions has somebody who may sign in first.
        out.asker = asker or Asker()
        out.asker.studio, out.asker.note = studio, out.note
        if out.log_level:
            ends.callback(narrate_logs(studio, out))
        if asker is None:
            return _told(await body(studio), studio, out)
        asker.redactor = studio.redactor
        for rule in reversed(asker.rules):
            studio.rules.add(rule)
            ends.callback(studio.rules.remove, rule)
        ends.callback(studio.rules.answered.connect(out.answered))
        async with asker.answering(studio.inbox):
            return _told(await body(studio), studio, out)


def _end(task: asyncio.Task[int], ended: list[int], code: int) -> None:
    ended.append(code)
    task.cancel()


def _told(code: int, studio: Studio, out: Output) -> int:
    """Say what is lost with us; a renewed token leaves behind one that may be used up."""
    for words in studio.accounts.unkept:
        out.warn(f"{words} It ends with this command: sign in again, once tokens can be kept.")
    return code


def narrate_logs(studio: Studio, out: Output) -> Callable[[], None]:
    """Say the log messages of servers as they come, those of `out.log_level` and worse."""
    least = rank_of(out.log_level)

    def added(message: LogMessage) -> None:
        if message.rank >= least:
            out.note(f"  {message.line}")

    return studio.logs.added.connect(added)


async def settled(studio: Studio, name: str, out: Output) -> Status:
    """Wait until it is known what becomes of a server; one that wants a sign-in gets it, where somebody agrees to that.

    Raises:
        SignInNeeded: nobody is here, but somebody can sign in elsewhere.
    """
    if studio.manager.config(name).tls.insecure:
        out.warn(f"{name}: any certificate is accepted (insecure), so anybody on the way can read and change all of it")
    status = await studio.manager.settle(name)
    if status.state == "needs_auth" and out.asker is not None and studio.manager.config(name).signs_in:
        return await late.sign_in_first(studio, name, status, out.asker, out)
    return status


async def connected(studio: Studio, name: str, out: Output) -> Status:
    """Wait until a server is ready and listed; says what it does wrong. Whoever is there may sign in first.

    Raises:
        StudioError: why it is not ready, in words.
    """
    status = await settled(studio, name, out)
    if status.state != "ready":
        raise status.error or Unreachable(f"{name} is {status.state}.")
    await studio.manager.listed(name)
    status = studio.manager.status(name)
    for warning in status.warnings:
        out.once(f"{name} {warning}")
    _, stray = studio.manager.stray(name)
    if stray:
        what = "a line that is" if stray == 1 else f"{stray} lines that are"
        out.once(f"{name} prints {what} not MCP on its standard output; logs belong on standard error")
    return status


async def located(studio: Studio, plan: Plan, out: Output, *kinds: EntryKind, verb: str = "call") -> Ref:
    """What is meant, at the one server that has it, which is connected and listed then.

    Raises:
        Outdated: the server that had it last time has it no more.
        UsageError: no server has it, or several have; the nearest are named.
        StudioError: the server is not ready, in words.
    """
    if plan.server:
        await connected(studio, plan.server, out)
        if plan.unknown:
            out.note(f"only {plan.server} is known to have {plan.name}; never listed yet: {', '.join(plan.unknown)}")
        return _of_one(studio, plan, out, kinds)
    names = list(plan.config.servers)
    statuses = await asyncio.gather(*(studio.manager.settle(name) for name in names))
    await asyncio.gather(*(studio.manager.listed(name) for name in names))
    entries = [entry.ref for kind in kinds for entry in studio.catalog.entries(kind) if not entry.remembered]
    found = list(dict.fromkeys(ref for ref in entries if ref.name == plan.name))
    if len(found) > 1:
        raise ambiguous(verb, kinds[0], [str(ref) for ref in found])
    for status in statuses:
        if status.state != "ready":
            why = status.error.message if status.error else status.state
            (out.note if found else out.warn)(f"{status.server} could not be asked: {why}")
    if not found:
        raise _nowhere(plan, kinds[0], entries)
    out.server = found[0].server
    await connected(studio, out.server, out)
    return found[0]


def _nowhere(plan: Plan, kind: EntryKind, known: list[Ref]) -> UsageError:
    """No server has it: the nearest that there is."""
    head, dot, _ = plan.name.partition(".")
    said = f"No server has the {kind} `{plan.name}`."
    near = suggestion(plan.name, [str(ref) if dot else ref.name for ref in known])
    if not dot or plan.named:
        return UsageError(f"{said}{near}")
    return UsageError(
        f"There is no server `{head}`.", hint=f"{nearest(head, plan.config.servers)}\n{said}{near}".strip()
    )


def _of_one(studio: Studio, plan: Plan, out: Output, kinds: tuple[EntryKind, ...]) -> Ref:
    """The same of the server that is named; what is named by an option of its own need not be listed."""
    refs = [Ref(kind, plan.server, plan.name) for kind in kinds]
    if found := next(filter(studio.catalog.find, refs), None):
        return found
    if plan.guessed:
        raise Outdated(f"{plan.server} has no {kinds[0]} {plan.name!r} any more.")
    if plan.named or (kinds == ("tool",) and studio.catalog.listing(plan.server, "tool").error):
        out.warn(f"{plan.server} does not list a {kinds[0]} {plan.name}.")
        return refs[0]
    raise studio.catalog.missing(refs[0])


def progress_of(call: Call) -> str:
    """How far a call is, in a line: its task, else its newest progress; empty while nothing is known."""
    if (task := call.as_task) is not None and (call.progress is None or task.seen > task.started):
        return f"task {task.id} is {task.status} {task.message}".rstrip()
    if (progress := call.progress) is None:
        return ""
    return f"{progress_text(progress.done, progress.total)} {progress.message}".rstrip()


class Narration:
    """Says how far something is: the newest line each time, and the last one in any case."""

    def __init__(self, out: Output) -> None:
        self._out = out
        self._said = self._newest = ""
        self._timer: asyncio.TimerHandle | None = None

    def tell(self, text: str) -> None:
        """Say it now, or soon where something was said just now; nothing where it is empty."""
        self._newest = text or self._newest
        if self._timer is None:
            self._say()

    def end(self) -> None:
        """Say what is not said yet."""
        if self._timer is not None:
            self._timer.cancel()
        self._say()

    def _say(self) -> None:
        self._timer = None
        if self._newest != self._said:
            self._said = self._newest
            self._out.note(f"  {self._newest}")
            self._timer = asyncio.get_running_loop().call_later(_BETWEEN, self._say)


async def outcome_of(call: Call, out: Output) -> CallOutcome:
    """Wait for a call and tell its progress; when we are interrupted, the server is told before this ends."""
    narration = Narration(out)
    disconnect = call.changed.connect(lambda one: narration.tell(progress_of(one)))
    known = _warnings(call, out)
    if out.asker is not None:
        out.asker.unless_answered(lambda: call.as_task is not None and call.cancel())
    try:
        outcome = await call.wait()
        for warning in _warnings(call, out):
            if warning not in known:
                out.note(f"{call.ref.server} {warning}")
        if isinstance(outcome, Lost) and outcome.sent and out.manager is not None:
            out.ending = await late.ending(out.manager, call)
        return outcome
    except asyncio.CancelledError:
        call.cancel()
        if call.task is not None:
            await asyncio.wait((call.task,), timeout=_CANCELLING)
        raise
    finally:
        disconnect()
        narration.end()


def _warnings(call: Call, out: Output) -> tuple[str, ...]:
    return out.manager.status(call.ref.server).warnings if out.manager is not None else ()
