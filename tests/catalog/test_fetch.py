"""Reading lists to their end."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from mcp_studio.catalog.listing import METHODS, Fetched, Page, fetch_all, page_of
from mcp_studio.errors import ProtocolError
from mcp_studio.limits import DEFAULT
from mcp_studio.protocol.versions import Hint, narrowest
from tests.support import run


def pages(answers: dict[str | None, Any], **bounds: int) -> Fetched:
    """Fetch tools from a server that answers each cursor with what is given."""

    async def ask(method: str, params: dict[str, Any]) -> Any:
        assert method == "tools/list"
        answer = answers[params.get("cursor")]
        if isinstance(answer, Exception):
            raise answer
        return answer

    return run(fetch_all(*METHODS["tool"][:2], ask, replace(DEFAULT, **bounds)))


def test_all_pages_are_read_and_an_empty_cursor_is_a_cursor() -> None:
    found = pages({None: {"tools": [1], "nextCursor": ""}, "": {"tools": [2], "nextCursor": "b"}, "b": {"tools": [3]}})
    assert found == Fetched([1, 2, 3])


def test_a_circle_of_cursors_ends_and_says_so() -> None:
    found = pages({None: {"tools": [1], "nextCursor": "a"}, "a": {"tools": [2], "nextCursor": "a"}})
    assert found.items == [1, 2] and "circle" in found.error


def test_what_came_before_a_failure_is_kept() -> None:
    found = pages({None: {"tools": [1], "nextCursor": "a"}, "a": ProtocolError("refused")})
    assert found == Fetched([1], "refused")


def test_bounds_cut_and_are_named() -> None:
    endless = {None: {"tools": [1, 2], "nextCursor": "0"}} | {
        str(n): {"tools": [1, 2], "nextCursor": str(n + 1)} for n in range(300)
    }
    found = pages(endless, pages=3)
    assert len(found.items) == 6 and "limits.pages" in found.capped
    found = pages(endless, items=5)
    assert len(found.items) == 5 and "limits.items" in found.capped


def test_answers_of_the_wrong_shape_are_errors() -> None:
    assert "tools" in pages({None: []}).error
    assert "tools" in pages({None: {"tools": {}}}).error
    found = pages({None: {"tools": [1], "nextCursor": 5}})
    assert found.items == [1] and "nextCursor" in found.error


def test_one_page_that_is_too_long_is_cut_and_says_so() -> None:
    found = pages({None: {"tools": [1, 2, 3]}}, items=2)
    assert found.items == [1, 2] and "limits.items" in found.capped
    assert pages({None: {"tools": [1, 2]}}, items=2) == Fetched([1, 2])


def one(answer: Any, cursor: str | None = None) -> Page:
    """Fetch one page, which is asked for with this cursor."""

    async def ask(method: str, params: dict[str, Any]) -> Any:
        assert (method, params) == ("prompts/list", {} if cursor is None else {"cursor": cursor})
        return answer

    return run(page_of(*METHODS["prompt"][:2], ask, cursor))


def test_one_page_has_its_cursors_and_lifetime_and_what_came() -> None:
    answer = {"prompts": [{"name": "a"}], "nextCursor": "", "ttlMs": 2_000, "cacheScope": "public"}
    page = one(answer, "")
    assert (page.cursor, page.items, page.following, page.raw) == ("", [{"name": "a"}], "", answer)
    assert page.hint == Hint(2, "public") and page.problem == ""


def test_a_page_with_a_cursor_that_is_none_is_the_last_and_says_what_is_wrong() -> None:
    page = one({"prompts": [], "nextCursor": 7})
    assert page.following is None and "nextCursor" in page.problem
    with pytest.raises(ProtocolError, match="prompts"):
        one({"tools": []})


def test_the_lifetime_of_a_list_is_that_of_its_pages() -> None:
    first = {"tools": [1], "nextCursor": "a", "ttlMs": 9_000, "cacheScope": "public"}
    found = pages({None: first, "a": {"tools": [2], "ttlMs": 1_000, "cacheScope": "private"}})
    assert narrowest(found.hints) == Hint(1, "private")
