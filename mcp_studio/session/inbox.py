"""Questions of servers and of the studio to a person: one queue, several kinds of answerers."""

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
"""The answers of the specification (client/elicitation); for an approval, `accept` runs the call."""
QuestionKind = Literal["elicitation", "url", "sampling", "approval", "sign_in", "roots"]
"""In order: form, page, model's message, call to approve, server to sign in to, roots of a gateway's client."""
OURS: tuple[QuestionKind, ...] = ("approval", "sign_in")
"""Questions of the studio itself, which do not count among those of a server."""

_OPENED = 50


class Answer(NamedTuple):
    """The answer to a question."""

    action: Action
    content: Json = None
    """The value of an accepted form; the `CreateMessageResult` of an accepted sampling request."""
    by: str = ""
    """The answerer if it was no person, such as `rule 2 of answers.toml`; starts with `nobody` where none answered."""
    note: str = ""
    """The person's remark."""

    @property
    def refusal(self) -> str:
        """Why a call without approval does not run, in a few words."""
        if self.action == "cancel" or self.by.startswith("nobody"):
            return self.note or f"needs approval, {self.by or 'nobody answered'}"
        said = f"denied by {self.by or 'you'}"
        return f"{said}: {self.note}" if self.note else said


@record(eq=False)
class InputRequest:
    """A question, with a future for its answer."""

    kind: QuestionKind
    server: str
    message: str
    schema: Json = None
    """The requested schema of a form."""
    subject: str = ""
    """The call that the question belongs to (`server.tool`), where it is known."""
    arguments: Json = None
    """For an approval: the arguments of the call."""
    reasons: tuple[str, ...] = ()
    """For an approval: the reasons; for a sign-in: the scopes."""
    sign_in: Callable[..., SignIn] | None = None
    """For a sign-in: starts it, or returns the running one; takes `step_by_step`.

    The question is accepted when it is done.
    """
    url: str = ""
    """The page that a server wants to be opened, as it came; see `mcp_studio.urls.judge`."""
    elicitation_id: str = ""
    """The id with which the server reports that the page is done (2025-11-25)."""
    retries: bool = False
    """Whether accepting sends the call again (-32042), so that it waits until the page is done."""
    opened: bool = False
    """Whether the person has opened the page, or copied its address."""
    completed: bool = False
    """Whether the server has reported that the page is done."""
    params: dict[str, Json] = field(default_factory=dict[str, Json])
    """The raw parameters: messages, tools and preferences of a sampling request."""
    quiet: bool = False
    """Whether no dialog opens by itself, because the server asks too often, or a rule says so."""
    note: str = ""
    """Why a rule did not answer the question, in words."""
    draft: Json = None
    """The person's input when they postponed the question."""
    number: int = field(default_factory=itertools.count(1).__next__)
    asked: float = field(default_factory=time.monotonic)
    until: float = 0.0
    """Monotonic time at which the question is answered with `cancel`; 0 is never."""
    reply: asyncio.Future[Answer] = field(default_factory=lambda: asyncio.get_running_loop().create_future())

    def answer(self, action: Action, content: Json = None, *, by: str = "", note: str = "") -> None:
        """Answer the question; a second answer is ignored."""
        if not self.reply.done():
            self.reply.set_result(Answer(action, content, by, note))


class Recent:
    """Counts recent events by key, in sliding windows."""

    def __init__(self) -> None:
        self._times: defaultdict[object, deque[float]] = defaultdict(deque)

    def too_often(self, key: object, most: int, seconds: float = 60.0, *, counts: bool = True) -> bool:
        """Whether one more event is too many; if not, `counts` counts it."""
        now, times = time.monotonic(), self._times[key]
        while times and now - times[0] > seconds:
            times.popleft()
        if len(times) >= most:
            return True
        times += [now] * counts
        return False


class Inbox:
    """The open questions, oldest first. `changed` fires when one comes, changes, is answered, or is withdrawn.

    At most `limits.prompts` questions of a server are shown at a time; further ones wait unseen.
    """

    def __init__(self, limits: Limits = DEFAULT) -> None:
        self.changed: Signal[InputRequest] = Signal()
        self._limits = limits
        self._open: list[InputRequest] = []
        self._recent = Recent()
        self._pages: deque[InputRequest] = deque(maxlen=_OPENED)
        self._done: deque[tuple[str, str]] = deque(maxlen=_OPENED)
        """Pages that servers reported as done, which may come together with the refusal that asks for them."""

    @property
    def pending(self) -> tuple[InputRequest, ...]:
        """The shown questions, oldest first."""
        counts: Counter[str] = Counter()
        shown: list[InputRequest] = []
        for request in self._open:
            counts[request.server] += request.kind not in OURS
            if request.kind in OURS or counts[request.server] <= self._limits.prompts:
                shown.append(request)
        return tuple(shown)

    @property
    def held(self) -> int:
        """The number of questions that wait unseen."""
        return len(self._open) - len(self.pending)

    def waiting(self, server: str) -> int:
        """The number of open questions of a server, shown or not, without those of the studio itself."""
        return sum(one.server == server and one.kind not in OURS for one in self._open)

    @property
    def pages(self) -> tuple[InputRequest, ...]:
        """Opened pages that their server has not reported as done, oldest first."""
        return tuple(page for page in self._pages if not page.completed)

    async def ask(self, request: InputRequest) -> Answer:
        """Queue a question and wait for its answer; cancelling the caller withdraws the question."""
        if request.elicitation_id:
            request.completed = (request.server, request.elicitation_id) in self._done
        if request.kind not in OURS:
            # Specification, client/elicitation: clients should rate-limit, so that no server can flood a person.
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
        """Record that a server reports a page as done (2025-11-25, `notifications/elicitation/complete`)."""
        self._done.append((server, elicitation_id))
        for request in (*self._open, *self._pages):
            if request.server == server and request.elicitation_id == elicitation_id and request.kind == "url":
                request.completed = True
                if request.retries and request.opened:
                    request.answer("accept")
                self.changed.emit(request)

    def page_opened(self, request: InputRequest) -> None:
        """Record that the person has opened a page, or copied its address, which is consent.

        This answers the question, except for a page that a call waits for, which is answered when it is done.
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
        """Decline all present questions of a server."""
        for request in self._open:
            if request.server == server and request.kind not in OURS:
                request.answer("decline")
