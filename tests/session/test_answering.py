"""Everything that a server of the handshake era may ask is answered, through the whole studio."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from mcp_studio.call.call import Cancelled, Rejected, Succeeded
from mcp_studio.config.model import AnswerRule, Root, Settings
from mcp_studio.limits import Limits
from mcp_studio.session.inbox import InputRequest
from mcp_studio.session.rules import message_result
from mcp_studio.studio import Studio
from tests.studio_support import call, opened, stdio, text
from tests.support import python_server, wait_until
from tests.support_servers import demo_stdio


def asks(**more: Any) -> Any:
    return stdio(python_server("raw_asks"), **more)


def answering(studio: Studio, how: Any) -> None:
    """Answer each question once, when it is shown."""
    seen: set[int] = set()

    def changed(_: InputRequest) -> None:
        for request in studio.inbox.pending:
            if request.number not in seen:
                seen.add(request.number)
                how(request)

    studio.inbox.changed.connect(changed)


async def test_two_hundred_forms_and_two_hundred_sampling_requests_at_once_are_each_answered_once() -> None:
    def how(request: InputRequest) -> None:
        if request.kind == "sampling":
            request.answer("accept", message_result("4"))
        else:
            request.answer("accept", {"name": "Ada"})

    async with opened(asks()) as studio:
        answering(studio, how)
        outcome = await call(studio, "storm", count=200)
        assert json.loads(text(outcome)) == {"answered": 400, "twice": 0, "accepted": 400}
        assert studio.inbox.pending == () and studio.inbox.held == 0


@pytest.mark.parametrize("modern", [(), ("--modern",)])
async def test_of_a_flood_of_requests_what_is_beyond_the_bound_is_told_once(
    modern: tuple[str, ...],
) -> None:
    settings = Settings(limits=Limits(server_requests=10, probe=30))
    server = stdio(python_server("raw_faults", "--fault", "unknown-requests", "--count", "300", *modern))
    async with opened(server, settings=settings) as studio:
        assert isinstance(await call(studio, "echo", text="hi"), Succeeded)

        def noted() -> int:
            return sum(b"more get no answer (limits.server_requests)" in entry.body for entry in studio.trace)

        def refused() -> int:
            return sum((entry.direction, entry.kind) == ("out", "error") for entry in studio.trace)

        await wait_until(lambda: noted() == 1 and refused() >= 10)


async def test_a_page_that_is_opened_and_done_sends_the_call_again() -> None:
    async with opened(asks()) as studio:
        answering(studio, studio.inbox.page_opened)
        assert text(await call(studio, "locked", tells=True)) == '"open"'


async def test_a_declined_page_leaves_the_refusal_as_the_outcome() -> None:
    async with opened(asks()) as studio:
        answering(studio, lambda request: request.answer("decline"))
        outcome = await call(studio, "locked")
        assert isinstance(outcome, Rejected) and outcome.code == -32042


async def test_declined_sampling_is_refused_with_the_code_of_the_specification() -> None:
    async with opened(asks()) as studio:
        answering(studio, lambda request: request.answer("decline"))
        assert json.loads(text(await call(studio, "sample")))["error"]["code"] == -1


@pytest.mark.parametrize(
    ("by", "why"), [("", "declined by you"), ("rule 1", "declined by rule 1"), ("nobody answered", "nobody answered")]
)
async def test_a_call_says_who_refused_its_sampling_request(by: str, why: str) -> None:
    async with opened(stdio(demo_stdio())) as studio:
        answering(studio, lambda request: request.answer("decline", by=by))
        outcome = await call(studio, "ask_model", id="slow-trains-north")
        assert isinstance(outcome, Cancelled) and outcome.problems == (
            f"The call needs sampling/createMessage: {why}.",
        )


async def test_roots_come_from_the_configuration_and_a_change_is_told() -> None:
    async with opened(asks(roots=(Root("file:///srv", "Data"),))) as studio:
        found = json.loads(text(await call(studio, "roots")))
        assert found["answer"]["result"] == {"roots": [{"uri": "file:///srv", "name": "Data"}]}
        studio.manager.supervisor("s").set_roots((Root("/tmp"),))
        found = json.loads(text(await call(studio, "roots")))
        assert found == {"answer": {"jsonrpc": "2.0", "id": "q2", "result": {"roots": [{"uri": "file:///tmp"}]}},
                         "changed": 1}  # fmt: skip


async def test_a_typed_secret_is_not_in_the_trace() -> None:
    async with opened(asks()) as studio:
        answering(studio, lambda one: one.answer("accept", {"name": "Ada", "password": "correct-horse"}))
        await call(studio, "form")
        assert not any(b"correct-horse" in entry.body for entry in studio.trace)
        assert any(b"Ada" in entry.body for entry in studio.trace)


async def test_what_a_rule_answers_stands_in_the_trace() -> None:
    async with opened(asks()) as studio:
        studio.rules.add(AnswerRule("decline", kind="elicitation", source="rule 1 of answers.toml"))
        await call(studio, "form")
        notes = [entry.body.decode() for entry in studio.trace if entry.kind == "note"]
        assert "elicitation answered by rule 1 of answers.toml: decline" in notes


async def test_a_call_can_be_waited_for_longer_than_its_deadline_while_a_person_is_asked_but_not_for_ever() -> None:
    limits = Limits(call_idle=0.2, call_total=0.3, call_longest=0.8)
    async with opened(asks(), settings=Settings(limits=limits)) as studio:
        outcome = await call(studio, "form")
        assert "call_longest" in getattr(outcome, "limit", "")
        assert outcome.ms > 600
        await wait_until(lambda: not studio.inbox.pending)


async def test_what_a_server_asks_together_is_open_together() -> None:
    async with opened(stdio(python_server("raw_conformance"))) as studio:
        calling = asyncio.ensure_future(call(studio, "test_input_required_result_multiple_inputs"))
        await wait_until(lambda: len(studio.inbox.pending) == 2, 20, "both questions")
        form, message = studio.inbox.pending
        assert (form.message, form.kind, message.kind) == ("What is your name?", "elicitation", "sampling")
        message.answer("accept", message_result("Hello"))
        form.answer("accept", {"name": "Ada"})
        said = text(await calling)
        assert all(name in said for name in ("Ada", "Hello", "client_roots")), said


async def test_who_declines_one_of_them_is_not_asked_the_others() -> None:
    async with opened(stdio(python_server("raw_conformance"))) as studio:
        calling = asyncio.ensure_future(call(studio, "test_input_required_result_multiple_inputs"))
        await wait_until(lambda: len(studio.inbox.pending) == 2, 20, "both questions")
        studio.inbox.pending[1].answer("decline")
        assert not isinstance(await calling, Succeeded) and studio.inbox.pending == ()
