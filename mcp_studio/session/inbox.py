"""What servers and the studio ask of a person: one queue, several kinds of answerer."""

from __future__ import annotations

import asyncio
import itertools
import time
from collections import Counter, defaultdict, deque
from collections.abc import Callable
from dataclasses import field
from functools import partial
from typing import TYPE_CHECKING, Literal, NamedTuple

from mcp_studio.jsontext import Json
from mcp_studio.limits import DEFAULT, Limits
from mcp_studio.record import record
from mcp_studio.signal import Signal

if TYPE_CHECKING:
    from mcp_studio.auth.signin import SignIn

Action = Literal["accept", "decline", "cancel"]
"""The three answers of the specification (client/elicitation); for an approval accept means run."""
QuestionKind = Literal["elicitation", "url", "sampling", "approval", "sign_in", "roots"]
"""A form, a page, a message of a model, a call to allow, a server to sign in to, roots of a client of the gateway."""
OURS: tuple[QuestionKind, ...] = ("approval", "sign_in")
"""What the studio asks of itself: not counted among what a server asks."""

_OPENED = 50


class Answer(NamedTuple):
    """What was answered."""

    action: Action
    content: Json = None
    """The value of an accepted form; the `CreateMessageResult` of an accepted sampling request."""
    by: str = ""
    """What answered, where it was no person: `rule 2 of answers.toml`; begins with `nobody` where nothing did."""
    note: str = ""
    """What the person says about it."""

    @property
    def refusal(self) -> str:
        """Why what it should have approved is not run, in a few words."""
        if self.action == "cancel" or self.by.startswith("nobody"):
            return f"needs approval, {self.by or 'nobody answered'}"
        said = f"denied by {self.by or 'you'}"
        return f"{said}: {self.note}" if self.note else said


@record(eq=False)
class InputRequest:
    """One question, carrying the slot for its answer."""

    kind: QuestionKind
    server: str
    message: str
    schema: Json = None
    """The requested schema of a form."""
    subject: str = ""
    """The call it belongs to (`server.tool`), where that is known."""
    arguments: Json = None
    """For an approval: what would be sent."""
    reasons: tuple[str, ...] = ()
    """For an approval: why it is asked; for a sign-in: what it would ask for."""
    sign_in: Callable[..., SignIn] | None = None
    """For a sign-in: begins it, or gives the one that is under way; takes `step_by_step`. Accepted when it is done."""
    url: str = ""
    """The page that a server wants opened, as it came; see `mcp_studio.urls.judge`."""
    elicitation_id: str = ""
    """Under which the server tells that the page is done (2025-11-25)."""
    retries: bool = False
    """Accepting sends the call again (-32042): accept when the page is done, not when it is opened."""
    opened: bool = False
    """The person has opened the page, or copied its address."""
    completed: bool = False
    """The server says that the page is done."""
    params: dict[str, Json] = field(default_factory=dict[str, Json])
    """The parameters as they came: messages, tools and preferences of a sampling request."""
    quiet: bool = False
    """It opens no dialog by itself: its server asks too often, or a rule says so."""
    note: str = ""
    """Why a rule did not answer it, in words."""
    draft: Json = None
    """What the person had typed when they put it off."""
    number: int = field(default_factory=itertools.count(1).__next__)
    asked: float = field(default_factory=time.monotonic)
    until: float = 0.0
    """Monotonic time at which it is answered with `cancel`; 0 is never."""
    reply: asyncio.Future[Answer] = field(default_factory=lambda: asyncio.get_running_loop().create_future())

    def answer(self, action: Action, content: Json = None, *, by: str = "", note: str = "") -> None:
        """Settle it; a second answer is ignored."""
        if not self.reply.done():
            self.reply.set_result(Answer(action, content, by, note))


class Recent:
    """How often things happened lately, by key, in windows that slide."""

    def __init__(self) -> None:
        self._times: defaultdict[object, deque[float]] = defaultdict(deque)

    def too_often(self, key: object, most: int, seconds: float = 60.0, *, counts: bool = True) -> bool:
        """Whether one more is too many; where it is not, it `counts`."""
        now, times = time.monotonic(), self._times[key]
        while times and now - times[0] > seconds:
            times.popleft()
        if len(times) >= most:
            return True
        times += [now] * counts
        return False


class Inbox:
    """All open questions, oldest first. `changed` fires when one comes, changes, is answered, or is withdrawn.

    Of one server at most `limits.prompts` questions are open at a time; more wait their turn unseen.
    """

    def __init__(self, limits: Limits = DEFAULT) -> None:
        self.changed: Signal[InputRequest] = Signal()
        self._limits = limits
        self._open: list[InputRequest] = []
        self._recent = Recent()
        self._pages: deque[InputRequest] = deque(maxlen=_OPENED)
        self._done: deque[tuple[str, str]] = deque(maxlen=_OPENED)
        """Pages that were called done: their server may say so together with the refusal that asks for them."""

    @property
    def pending(self) -> tuple[InputRequest, ...]:
        """The open questions, oldest first, but for those that wait their turn."""
        counts: Counter[str] = Counter()
        shown: list[InputRequest] = []
        for request in self._open:
            counts[request.server] += request.kind not in OURS
            if request.kind in OURS or counts[request.server] <= self._limits.prompts:
                shown.append(request)
        return tuple(shown)

    @property
    def held(self) -> int:
        """How many more wait their turn."""
        return len(self._open) - len(self.pending)

    def waiting(self, server: str) -> int:
        """How many questions of a server are open or wait their turn; what the studio asks of itself does not count."""
        return sum(one.server == server and one.kind not in OURS for one in self._open)

    @property
    def pages(self) -> tuple[InputRequest, ...]:
        """Pages that were opened and that their server has not called done yet, oldest first."""
        return tuple(page for page in self._pages if not page.completed)

    async def ask(self, request: InputRequest) -> Answer:
        """Queue a question and wait for its answer; cancelling the waiter withdraws the question."""
        if request.elicitation_id:
            request.completed = (request.server, request.elicitation_id) in self._done
        if request.kind not in OURS:
            # Specification, client/elicitation: clients should rate-limit; a person is not to be flooded.
            request.quiet = request.quiet or self._recent.too_often(request.server, self._limits.prompts_minute)
        bound = "approval" if request.kind == "approval" else "answer"
        seconds: float = getattr(self._limits, bound)
        request.until = time.monotonic() + seconds
        action: Action = "decline" if request.kind == "approval" else "cancel"
        nobody = f"nobody answered within {seconds:g} s (limits.{bound})"
        timer = asyncio.get_running_loop().call_later(seconds, partial(request.answer, action, by=nobody))
        self._open.append(request)
        self.changed.emit(request)
        try:
            return await request.reply
        finally:
            timer.cancel()
            self._open.remove(request)
            self.changed.emit(request)

    def completed(self, server: str, elicitation_id: str) -> None:
        """A server says that a page is done (2025-11-25, `notifications/elicitation/complete`)."""
        self._done.append((server, elicitation_id))
        for request in (*self._open, *self._pages):
            if request.server == server and request.elicitation_id == elicitation_id and request.kind == "url":
                request.completed = True
                if request.retries and request.opened:
                    request.answer("accept")
                self.changed.emit(request)

    def page_opened(self, request: InputRequest) -> None:
        """The person has opened a page, or copied its address: consent is given.

        A question of its own is thereby answered; a page that a call waits for is answered when it is done.
        """
        request.opened = True
        if not request.retries:
            if request.elicitation_id:
                self._pages.append(request)
            request.answer("accept")
        elif request.completed:
            request.answer("accept")
        self.changed.emit(request)

    def decline_all(self, server: str) -> None:
        """Decline everything that a server asks at this moment."""
        for request in self._open:
            if request.server == server and request.kind not in OURS:
                request.answer("decline")
