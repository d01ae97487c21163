"""Runs the engine for one verb: handles signals and questions, reports results, and always shuts down in order."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import AsyncExitStack, suppress
from dataclasses import replace
from pathlib import Path

from mcp_studio.auth.hints import add_hint
from mcp_studio.call.call import Call, CallOutcome, InBackground, Lost, Succeeded, TimedOut, wants_handshake
from mcp_studio.cli.options import Options
from mcp_studio.cli.questions import Asker
from mcp_studio.cli.targets import with_secrets
from mcp_studio.cli.terminal import Output, can_ask, restore
from mcp_studio.config.model import Config
from mcp_studio.errors import StudioError, Unreachable, UsageError
from mcp_studio.jsontext import Json, mapping, pieces
from mcp_studio.paths import Paths
from mcp_studio.present import blocks, crashes, outcomes
from mcp_studio.protocol.core import progress_text
from mcp_studio.safetext import escape_live
from mcp_studio.session.logs import rank_of
from mcp_studio.session.manager import ConnectionManager
from mcp_studio.session.state import Status, at_most, until
from mcp_studio.studio import Studio
from mcp_studio.trace.postmortem import Mortem

_BETWEEN = 1 / 9
"""Seconds between two progress lines. Nine, plus the last one, make at most ten in any second."""

_TOGETHER = 10.0
"""A call was lost with its connection if both ended within so many seconds."""
_ENDING = 4.0
"""Seconds to wait until it is known how a connection ended."""
ORIGIN = "command line"
Body = Callable[[Studio], Awaitable[int]]


def execute(
    config: Config, out: Output, body: Body, *, answers: bool = True, connects: bool = True, origin: str = ORIGIN
) -> int:
    """Open the studio on these servers, run `body` in it and close everything. Returns the exit code.
    In a shell the studio is already open, and stays open.

    Args:
        answers: servers may ask for input and calls for approval. In a gateway its clients answer, not this terminal.
        origin: what the recorded session says it comes from.
        connects: start the servers and look up the secrets in their entries. Otherwise neither happens.
    """
    check_file(out.options)
    out.asker = Asker(out)
    if not connects:
        config = replace(config, servers={one.name: replace(one, enabled=False) for one in config.servers.values()})
    elif out.shell is None:
        config = with_secrets(config, out)
    logging.lastResort = logging.NullHandler()  # only we write messages to stderr; logging goes to the studio's log
    codes: list[int] = []

    def end(task: asyncio.Task[int], number: int) -> None:
        codes.append(128 + number)
        task.cancel()

    async def session() -> int:
        task = asyncio.current_task()
        for name in ("SIGTERM", "SIGHUP"):
            if task is not None and (number := getattr(signal, name, None)) is not None:
                with suppress(NotImplementedError):  # Windows
                    asyncio.get_running_loop().add_signal_handler(number, end, task, number)
        async with Studio.open(config, Paths.default(), can_ask=answers, origin=origin) as studio:
            return await within(studio, out, body, answers=answers and origin != "gateway")

    try:
        if out.shell is not None:
            return out.shell.run(lambda studio: within(studio, out, body, answers=answers))
        return asyncio.run(session())
    except (KeyboardInterrupt, asyncio.CancelledError):
        restore()
        codes.append(out.interrupted())
        return codes[0]


async def within(studio: Studio, out: Output, body: Body, *, answers: bool) -> int:
    """Run a verb in an open studio and undo afterwards what it has registered there."""
    async with AsyncExitStack() as ends:
        ends.callback(studio.trace.troubled.connect(out.note))
        out.redactor, out.studio = studio.redactor, studio
        if out.log_level:
            least = rank_of(out.log_level)
            narrate = studio.logs.added.connect(lambda one: out.note(f"  {one.line}" if one.rank >= least else ""))
            ends.callback(narrate)
        if answers:
            for rule in reversed(out.asker.rules):
                studio.rules.add(rule)
                ends.callback(studio.rules.remove, rule)
            ends.callback(studio.rules.answered.connect(out.answered))
            await ends.enter_async_context(out.asker.answering(studio.inbox))
        code = await body(studio)
        # Warn of renewed tokens that could not be stored: the stored one may be used up.
        again = "It ends with this command: sign in again, once tokens can be stored."
        out.warn(*(f"{words} {again}" for words in studio.sign_ins.unsaved))
        return code


async def ready(studio: Studio, name: str, out: Output) -> Status:
    """Wait until a server is ready. A person at the terminal can sign in if that is needed.

    Raises:
        StudioError: the server is not ready; the message says why.
    """
    if studio.manager.config(name).tls.insecure:
        out.warn(f"{name}: any certificate is accepted (insecure), so anybody on the way can read and change all of it")
    status = await studio.manager.settle(name)
    if status.state == "needs_auth" and studio.manager.config(name).signs_in and can_ask():
        status = await out.asker.sign_in(status)
    if status.state != "ready":
        raise status.error or Unreachable(f"{name} is {status.state}.")
    return status


async def connected(studio: Studio, name: str, out: Output) -> Status:
    """Wait until a server is ready and its lists are loaded. Prints its protocol mistakes.

    Raises:
        StudioError: the server is not ready; the message says why.
    """
    await ready(studio, name, out)
    await studio.manager.listed(name)
    status = studio.manager.status(name)
    for warning in status.warnings:
        out.once(f"{name} {warning}")
    return status


async def connect_all(studio: Studio, out: Output) -> dict[str, StudioError]:
    """Wait until all servers are ready and listed. Returns the errors of those that failed."""
    names = studio.manager.names()
    ends = await asyncio.gather(*(connected(studio, name, out) for name in names), return_exceptions=True)
    for error in ends:
        if isinstance(error, BaseException) and not isinstance(error, StudioError):
            raise error
    return {name: error for name, error in zip(names, ends, strict=True) if isinstance(error, StudioError)}


async def reachable(studio: Studio, out: Output) -> list[str]:
    """Wait for all servers, warn of those that failed, and return the names of the others."""
    failed = await connect_all(studio, out)
    _warn_of(failed, out)
    return [name for name in studio.manager.names() if name not in failed]


def tell_passed_over(studio: Studio, out: Output) -> None:
    """Warn of the servers that are not ready, because another was faster or because they failed."""
    found = {name: studio.manager.status(name) for name in studio.manager.names()}
    first = Unreachable("another server was ready first.")
    _warn_of({name: one.error or first for name, one in found.items() if one.state not in ("ready", "disabled")}, out)


def _warn_of(failed: Mapping[str, StudioError], out: Output) -> None:
    out.warn(*(f"{name} could not be asked: {error.message}" for name, error in failed.items()))


class Narration:
    """Prints progress at most ten times a second, and always the last state."""

    def __init__(self, out: Output) -> None:
        self._out, self._next = out, 0.0
        self._said = self._newest = ""

    def tell(self, text: str) -> None:
        """Print the text, unless something was printed just now. An empty text changes nothing."""
        self._newest = text or self._newest
        if time.monotonic() >= self._next:
            self.end()

    def end(self) -> None:
        """Print the last text if it is not printed yet."""
        if self._newest != self._said:
            self._said = self._newest
            self._next = time.monotonic() + _BETWEEN
            self._out.note(f"  {self._newest}")


def _progress(call: Call) -> str:
    """Describe a call's progress in one line: the state of its task, or its newest progress.

    Empty if neither is known.
    """
    if (task := call.as_task) is not None and (call.progress is None or task.seen > task.started):
        return f"task {task.id} is {task.status} {task.message}".rstrip()
    if (progress := call.progress) is None:
        return ""
    return f"{progress_text(progress.done, progress.total)} {progress.message}".rstrip()


async def outcome_of(call: Call, out: Output) -> CallOutcome:
    """Wait for a call and print its progress. On an interrupt the server is told before this returns."""
    manager, server, narration = out.studio.manager, call.ref.server, Narration(out)
    disconnect = call.changed.connect(lambda one: narration.tell(_progress(one)))
    known = manager.status(server).warnings
    out.asker.unless_answered(lambda: call.as_task is not None and call.cancel())
    try:
        outcome = await call.join()
        out.note(*outcomes.attempts(call))
        out.server = call.ref.server
        if call.tried:
            out.more["tried"] = [one._asdict() for one in call.tried]
        out.note(*(f"{server} {warning}" for warning in manager.status(server).warnings if warning not in known))
        if isinstance(outcome, Lost) and outcome.sent:
            out.ending = await ending_of(call, manager)
        return outcome
    finally:
        disconnect()
        narration.end()


async def ending_of(call: Call, manager: ConnectionManager) -> Mortem | None:
    """Wait for the report on the connection that lost this call; None if the connection lives on."""
    supervisor, begun = manager.supervisor(call.ref.server), time.time() - (time.monotonic() - call.started)

    def ended_it(one: Mortem) -> bool:
        sent = ((flight.id, flight.method) for flight in one.flights)
        return begun - 1 <= one.time <= begun + call.seconds + _TOGETHER and (call.request, call.method) in sent

    def found() -> Mortem | None:
        return next(filter(ended_it, reversed(supervisor.mortems)), None)

    # If the connection lives on, only this one answer was unusable.
    await at_most(_ENDING, until(lambda: found() or supervisor.connection, manager.changed))
    return found()


def check_file(options: Options) -> None:
    """Check that `--output` can be written, before anything is sent.

    Raises:
        UsageError: the file exists, or cannot be created.
    """
    file = options.value("--output")
    if file and os.path.lexists(file):
        raise UsageError(f"{file} exists; nothing is overwritten.", hint="Name another file, or remove this one first.")
    if file and not ((folder := Path(file).parent).is_dir() and os.access(folder, os.W_OK)):
        raise UsageError(f"{file} cannot be written: {folder} is no folder that can be written to.")


def end(outcome: CallOutcome, out: Output, show: Callable[[Json], Iterator[str]] = blocks.result_text) -> int:
    """Print a call's outcome, or write its result to the file of `--output`. Returns the exit code."""
    out.ms = outcome.ms
    out.warn(*outcome.problems)
    out.note(*outcome.notes)
    if outcome.sensitive:
        out.more["sensitive"] = dict(outcome.sensitive)
    if isinstance(outcome, Succeeded) and outcome.cached:
        out.note(outcomes.freshness(outcome))
        out.more["cached"] = {"age": round(outcome.cached.age, 3)}
    if out.asker.refused:
        return out.fail(out.asker.refused[0])
    match outcome:
        case Succeeded(result=result):
            return _succeeded(result, show, out)
        case InBackground(task=task):
            out.data(task)
            return out.done({"task": task})
        case _:
            return _failed(outcome, out)


def _failed(outcome: CallOutcome, out: Output) -> int:
    """Print why a call failed. If it was lost with its server, print how that ended."""
    error, manager = outcomes.failure(outcome), out.studio.manager
    if isinstance(outcome, Lost) and outcome.alternatives:
        who = " or ".join(outcome.alternatives)
        error.hint = f"{who} could take it: --failover lets them, though it may run twice."
    elif isinstance(outcome, TimedOut):
        error.hint = "--timeout SECONDS waits longer."
    elif out.server in manager.names():
        if wants_handshake(outcome, manager.status(out.server)):
            error.hint = 'It makes requests as in the older era: --era legacy (in its entry, era = "legacy").'
        add_hint(error, manager.config(out.server))
    if not isinstance(outcome, Lost) or out.ending is None:
        return out.fail(error)
    code = out.fail(error, {"ending": crashes.as_json(out.ending)})
    out.note(*(f"  {name:<9}  {value}" for name, value in crashes.facts(out.ending)))
    return code


def _succeeded(result: Json, show: Callable[[Json], Iterator[str]], out: Output) -> int:
    file, failed = out.options.value("--output"), None
    if out.json and not file:
        return out.done(result)
    structured = blocks.structured_content(result)
    if file:
        try:
            values = (map(escape_live, pieces(value)) for value in structured)
            out.data(_written(result, blocks.joined((show(result), *values)), file))
            return out.done(result)
        except StudioError as error:  # show the result all the same
            failed = error
    if blocks.blocks_of(result) or not structured:
        out.data(show(result))
    for value in structured:
        out.flush()
        out.note("structured content:" * bool(blocks.blocks_of(result)))
        out.content(value)
    return out.done(result, failed)


def _written(result: Json, text: Iterator[str], file: str) -> str:
    """Write a result to a new file and return what to print instead.
    Text is written as it is. Binary content is written as bytes; a second and later part gets a number in its file
    name, and the text that came with it is returned.

    Raises:
        StudioError: the file exists or cannot be written, or the content is not valid base64.
    """
    path, found = Path(file), blocks.blocks_of(result)
    try:
        binary = [blocks.decode(block) for block in found if block.kind in ("image", "audio", "file")]
    except ValueError:
        raise StudioError("The server's content is not valid base64.") from None
    files = [path, *(path.with_stem(f"{path.stem}-{number}") for number in range(2, len(binary) + 1))]
    rows = ["".join(text)] if binary and (len(found) > 1 or "structuredContent" in mapping(result)) else []
    raw = (piece.encode("utf-8", "surrogatepass") for piece in text)
    for target, data in zip(files, [[one] for one in binary] or [raw], strict=True):
        try:
            with target.open("xb") as out:
                out.writelines(data)
        except OSError as problem:
            raise UsageError(f"{target} cannot be written: {problem.strerror or problem}.") from None
        rows.append(f"{target.stat().st_size} bytes written to {target}")
    return "\n".join(row.removesuffix("\n") for row in rows)
