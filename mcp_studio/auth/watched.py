"""The steps of a sign-in as they are shown: which one runs, what it exchanged, how it ended."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager

from mcp_studio.auth.model import AuthExchange, AuthStep, StepName
from mcp_studio.errors import StudioError

TITLES: dict[StepName, str] = {
    "resource": "What protects the server",
    "issuer": "Who gives tokens for it",
    "client": "Who we are there",
    "permission": "A person's permission",
    "token": "The token",
    "stored": "Where it is kept",
}
"""All steps, in their order."""


class Watched:
    """The steps of one sign-in."""

    def __init__(self, changed: Callable[[], None]) -> None:
        """`changed` is called whenever there is something new to show."""
        self.steps = tuple(AuthStep(name, title) for name, title in TITLES.items())
        self.current: AuthStep | None = None
        self._changed = changed

    @contextmanager
    def step(self, name: StepName) -> Generator[AuthStep, None, None]:
        """A step begins; it is done at the end of the block, or failed."""
        step = next(one for one in self.steps if one.name == name)
        self._skip(self.steps[: self.steps.index(step)])
        step.state, self.current = "running", step
        self._changed()
        try:
            yield step
        except StudioError as problem:
            # What was noted meanwhile may be the reason.
            problem.hint = f"{problem.hint} {step.hint}".strip()
            step.state, step.detail, step.hint = "failed", problem.message, problem.hint
            self._changed()
            raise
        step.state = "done"
        self._changed()

    def note(self, text: str) -> None:
        """Something to be told in the step that runs."""
        if self.current is not None:
            self.current.hint = f"{self.current.hint} {text}".strip()
            self._changed()

    def record(self, exchange: AuthExchange) -> None:
        """An exchange went out, or its answer is there."""
        if self.current is None:
            return
        known = self.current.exchanges
        if known and known[-1].number == exchange.number:
            known[-1] = exchange
        else:
            known.append(exchange)
        self._changed()

    def end(self, error: StudioError | None, *, aside: bool = False) -> None:
        """It is over; with `aside` a person can go on with the step that runs."""
        for step in self.steps:
            if step.state in ("running", "asking") and aside:
                step.state = "asking"
            elif step.state in ("running", "asking"):
                step.state, step.detail = "failed", error.message if error else step.detail
        if error is None:
            self._skip(self.steps)

    def _skip(self, steps: tuple[AuthStep, ...]) -> None:
        for step in steps:
            if step.state == "waiting":
                step.state = "skipped"
