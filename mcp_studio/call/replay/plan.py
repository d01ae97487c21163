"""Which requests of a recording are sent again, in which order, and why others are not. Pure; reads no bodies."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from mcp_studio.protocol.outgoing import RequestId
from mcp_studio.record import record
from mcp_studio.trace.columns import BY_HAND, PROBE, Columns
from mcp_studio.trace.message import DIRECTIONS, KINDS
from mcp_studio.trace.recording import Recording

CALLS = ("tools/call", "resources/read", "prompts/get")
"""Methods that are sent as calls: with policy, rounds of input, tasks."""
NEVER = {
    "initialize": "opens a connection", "server/discover": "opens a connection", "ping": "has nothing to compare",
    "subscriptions/listen": "stays open", "resources/subscribe": "is a setting of its connection",
    "resources/unsubscribe": "is a setting of its connection", "logging/setLevel": "is a setting of its connection",
    "tasks/get": "is about a task of that time", "tasks/result": "is about a task of that time",
    "tasks/update": "is about a task of that time", "tasks/cancel": "is about a task of that time",
    "tasks/list": "is about tasks of that time",
}  # fmt: skip
"""Methods that are not sent again, and why."""
_REQUEST, _OUT = KINDS.index("request"), DIRECTIONS.index("out")
_OURS = _REQUEST | _OUT << 4


@record(frozen=True)
class Step:
    """One request that is sent again, with all that belonged to it."""

    number: int
    """Of the request; of a conversation its first one."""
    server: str
    """Where it went."""
    method: str
    target: str
    at: float
    """Seconds since the epoch when it was sent."""
    rounds: tuple[int, ...] = ()
    """The numbers of the later rounds of its conversation."""
    asked: tuple[tuple[int, int], ...] = ()
    """What the server asked meanwhile, and our answers to it, by their numbers."""
    tasks: tuple[int, ...] = ()
    """The numbers of the requests about the task that it became."""
    answer: int = 0
    """The number of the final answer; 0 where none is kept."""
    outcome: str = ""
    """How it ended: see `message.Outcome`."""
    ms: float | None = None
    """Milliseconds from the first request to the final answer."""
    by_hand: bool = False

    @property
    def subject(self) -> str:
        """What it is, in words; foreign text."""
        return f"{self.method} {self.target}".rstrip()


class LeftOut(NamedTuple):
    """Requests of one method that are not sent again."""

    method: str
    times: int
    reason: str
    """Goes on after the method: `ping has nothing to compare`."""


@record(frozen=True)
class Plan:
    """What is sent, in its order."""

    steps: tuple[Step, ...]
    left_out: tuple[LeftOut, ...] = ()

    @property
    def servers(self) -> tuple[str, ...]:
        """The servers that were asked, in the order of their first request."""
        return tuple(dict.fromkeys(step.server for step in self.steps))


def plan(columns: Columns, numbers: Iterable[int] | None = None) -> Plan:
    """What to send for a selection of entries: for any entry of a conversation the whole of it, once.

    What had no answer is left out: there is nothing to compare with.

    Args:
        numbers: the entries; None takes all.
    """
    family = _Family(columns)
    whole = numbers is None or (isinstance(numbers, range) and len(numbers) >= len(columns))
    chosen = family.ours() if whole or numbers is None else numbers
    roots = sorted({root for number in chosen if (root := family.root(number))})
    steps: list[Step] = []
    left: Counter[tuple[str, str]] = Counter()
    for root in roots:
        step = family.step(root)
        if columns.flags[root - columns.first] & PROBE:
            continue
        if why := reason(step):
            left[step.method, why] += 1
        else:
            steps.append(step)
    return Plan(tuple(steps), tuple(LeftOut(method, times, why) for (method, why), times in left.items()))


def step_of(columns: Columns, number: int) -> Step | None:
    """The conversation that an entry belongs to, answered or not; None where it belongs to no request of ours."""
    family = _Family(columns)
    root = family.root(number)
    return family.step(root) if root else None


def number_of(recording: Recording, server: str, identity: RequestId | None) -> int:
    """The number of the newest request of ours with this id; 0 where the recording has none."""
    columns = recording.columns
    wanted, kinds = columns.servers.known(server), columns.kind.tobytes()
    row = kinds.rfind(_OURS) if wanted is not None and identity is not None else -1
    while row >= 0:
        entry = recording.entry(columns.first + row) if columns.server[row] == wanted else None
        if entry is not None and entry.id == identity:
            return entry.number
        row = kinds.rfind(_OURS, 0, row)
    return 0


def reason(step: Step) -> str:
    """Why a step is not sent among many; empty where it is."""
    if step.method in NEVER:
        return NEVER[step.method]
    if not step.method:
        return "is no request"
    return "" if step.answer else "had no answer"


class _Family:
    """Which requests came under which."""

    def __init__(self, columns: Columns) -> None:
        self._columns = columns
        self._under: dict[int, list[int]] = {}
        for links in (columns.parents, columns.follows):
            for child, parent in tuple(links.items()):
                self._under.setdefault(parent, []).append(child)

    def ours(self) -> Iterator[int]:
        """All requests of ours."""
        kinds, wanted = self._columns.kind.tobytes(), bytes((_OURS,))
        place = kinds.find(wanted)
        while place >= 0:
            yield self._columns.first + place
            place = kinds.find(wanted, place + 1)

    def root(self, number: int) -> int:
        """The request of ours that an entry belongs to, the first of its conversation; 0 where there is none."""
        columns = self._columns
        row = number - columns.first
        if not 0 <= row < len(columns):
            return 0
        if columns.kind[row] & 15 != _REQUEST:
            number = columns.link[row]
        while self._kept(number):
            above = columns.follows.get(number) or columns.parents.get(number, 0)
            if not 0 < above < number or not self._kept(above) or self._own(number, above):
                return number if columns.kind[number - columns.first] == _OURS else 0
            number = above
        return 0

    def _own(self, number: int, above: int) -> bool:
        """Whether a request that came under another is one for itself: some list that was asked for meanwhile."""
        columns = self._columns
        if number in columns.follows or columns.kind[number - columns.first] != _OURS:
            return False
        method = columns.methods.texts[columns.method[number - columns.first]]
        return (
            not method.startswith("tasks/")
            and columns.method[number - columns.first] != columns.method[above - columns.first]
        )

    def step(self, root: int) -> Step:
        """A conversation from its first request on."""
        columns, row = self._columns, root - self._columns.first
        rounds, asked, tasks = [root], list[tuple[int, int]](), list[int]()
        for number in self._below(root):
            at = number - columns.first
            if columns.kind[at] != _OURS:
                asked.append((number, columns.link[at]))
            elif columns.methods.texts[columns.method[at]].startswith("tasks/"):
                tasks.append(number)
            elif columns.method[at] == columns.method[row]:
                rounds.append(number)
        last = rounds[-1] - columns.first
        answer = columns.link[last] if self._kept(columns.link[last]) else 0
        ended = max([answer, *(columns.link[number - columns.first] for number in tasks)])
        ms = (columns.time[ended - columns.first] - columns.time[row]) * 1000 if self._kept(ended) else None
        return Step(
            root, columns.servers.texts[columns.server[row]], columns.methods.texts[columns.method[row]],
            columns.targets.texts[columns.target[row]], columns.time[row], tuple(rounds[1:]), tuple(asked),
            tuple(tasks), answer, columns.outcome_of(last), ms, bool(columns.flags[row] & BY_HAND),
        )  # fmt: skip

    def _below(self, root: int) -> list[int]:
        """All requests of a conversation but the first, oldest first."""
        found = [child for child in self._children(root)]
        for number in found:
            found += self._children(number)
        return sorted(set(found))

    def _children(self, number: int) -> Iterator[int]:
        for child in self._under.get(number, ()):
            if child > number and self._kept(child) and not self._own(child, number):
                yield child

    def _kept(self, number: int) -> bool:
        return 0 <= number - self._columns.first < len(self._columns)
