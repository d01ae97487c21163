"""Reading lists to their end."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from mcp_studio.catalog.fetch import Fetched, fetch
from mcp_studio.errors import ProtocolError
from mcp_studio.limits import DEFAULT
from tests.support import run


def pages(answers: dict[str | None, Any], **bounds: int) -> Fetched:
    """Fetch tools from a server that answers each cursor with what is given."""

    async def ask(method: str, params: dict[str, Any]) -> Any:
        assert method == "tools/list"
        answer = answers[params.get("cursor")]
        if isinstance(answer, Exception):
            raise answer
        return answer

    return run(fetch("tool", ask, replace(DEFAULT, **bounds)))


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


def test_a_list_that_takes_too_long_in_all_ends_with_what_came() -> None:
    found = pages({None: {"tools": [1], "nextCursor": "a"}, "a": {"tools": [2]}}, call_total=-1)
    assert found.items == [1] and "limits.call_total" in found.error
