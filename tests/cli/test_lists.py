"""Lists a page at a time, completions with their count, and reads that ask the server."""

from __future__ import annotations

import pytest

from tests.cli.kit import Done, cli
from tests.support import python_server
from tests.support_servers import http_server


def lists(*words: str, options: tuple[str, ...] = ()) -> Done:
    """Run a command line on the server of lists."""
    return cli(*words, "--", *python_server("raw_lists", "--modern", *options))


PAGED = ("--pages", "--ttl", "9000")


def test_one_page_is_printed_and_the_next_one_named() -> None:
    done = lists("list", "tools", "--page", options=PAGED)
    assert done.code == 0
    assert [line.split()[1] for line in done.out.splitlines()] == ["target.change", "target.words"]
    assert "fresh for 9 s, private" in done.err and "next page: --page='after 2'" in done.err


@pytest.mark.parametrize("words", [("--page", "after 4"), ("--page=after 4",)])
def test_a_cursor_names_the_page_and_the_last_one_says_so(words: tuple[str, ...]) -> None:
    done = lists("list", "tools", *words, options=PAGED)
    assert (done.code, done.out.split()[1]) == (0, "target.old")
    assert "last page" in done.err


def test_a_page_as_json_has_its_cursor_and_lifetime() -> None:
    result = lists("list", "tools", "--page", "after 2", "--json", options=PAGED).json["result"]
    assert [tool["name"] for tool in result["tools"]] == ["full", "twice"]
    assert (result["nextCursor"], result["ttlMs"], result["cacheScope"]) == ("after 4", 9000, "private")
    assert lists("list", "prompts", "--page", "--json", options=PAGED).json["result"]["nextCursor"] is None


def test_a_page_is_one_of_one_list() -> None:
    done = lists("list", "--page")
    assert done.code == 2 and "one list of one server" in done.err


def test_a_page_that_the_server_refuses_is_a_failure() -> None:
    done = cli("list", "tools", "--page", "--", *python_server("raw_faults", "--fault", "list-error"))
    assert done.code == 1 and "out of order" in done.err


def test_completions_know_the_other_arguments_and_are_counted() -> None:
    done = lists("complete", "visit", "city=N", "country=france", "--json")
    assert done.json["result"] == {"values": ["Nice"], "total": None, "hasMore": False}
    done = lists("complete", "visit", "city=N", options=("--completions", "many"))
    assert len(done.out.splitlines()) == 100 and "100 of 250 values" in done.err


def test_completions_that_are_not_there_are_told_apart_from_none() -> None:
    assert "declares no completions" in lists("complete", "visit", "city=", options=("--without-completions",)).err
    done = lists("complete", "visit", "city=", options=("--completions", "refused"))
    assert done.code == 1 and "No completions today" in done.err


def test_a_read_can_insist_on_the_server() -> None:
    done = lists("read", "raw://count", "--no-cache", options=("--ttl", "-1"))
    assert (done.code, done.out) == (0, "read 1\n") and "ttlMs is negative" in done.err


def test_what_is_only_remembered_has_no_heading() -> None:
    with http_server("--token", "let-me-in") as url:
        first = cli("list", "--url", url, "--header", "Authorization: Bearer let-me-in")
        assert first.code == 0 and first.out.startswith("tools\n")
        refused = cli("list", "--url", url)
    assert (refused.code, refused.out) == (3, "")
