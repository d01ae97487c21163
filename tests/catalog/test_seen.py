"""What a listing is compared with, and what counts as seen."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from mcp_studio.catalog.catalog import Baselines, Catalog
from mcp_studio.catalog.listing import Entry, Listing, Ref, salvage
from mcp_studio.redact import Redactor


def tools(*names: str, **more: Any) -> list[dict[str, Any]]:
    return [{"name": name, "inputSchema": {"type": "object"}, **more} for name in names]


def entries(items: Iterable[Any]) -> tuple[Entry, ...]:
    return salvage("s", "tool", items)


def compared(before: list[Any], now: list[Any]) -> tuple[dict[str, str], list[str]]:
    """The kinds of change by name, and the names of what is gone."""
    seen = Baselines()
    seen.take("s", "tool", salvage("s", "tool", before))
    found, gone = seen.compare("s", "tool", entries(now))
    return {e.ref.name: e.change.kind for e in found if e.change}, [e.ref.name for e in gone]


def test_new_changed_and_gone_are_told_apart_and_order_means_nothing() -> None:
    before, now = tools("a", "b", "c"), [*tools("c", "d"), *tools("a", title="other")]
    assert compared(before, now) == ({"d": "new", "a": "changed"}, ["b"])
    assert compared(tools("a", "b"), tools("b", "a")) == ({}, [])


def test_one_of_several_with_the_same_name_can_go_or_come() -> None:
    assert compared(tools("a", "a"), tools("a")) == ({}, ["a"])
    assert compared(tools("a"), tools("a", "a")) == ({"a": "new"}, [])


def test_malformed_entries_are_compared_like_others() -> None:
    assert compared(["text", None], ["text", None]) == ({}, [])
    assert compared(["text"], ["other"])[0] == {"": "changed"}


def test_what_only_redaction_made_different_is_the_same() -> None:
    redactor = Redactor()
    redactor.learn("hunter2-hunter2")
    seen = Baselines(redactor.bytes)
    seen.take("s", "tool", salvage("s", "tool", tools("a", description="key ‹redacted› here")))
    same, _ = seen.compare("s", "tool", entries(tools("a", description="key hunter2-hunter2 here")))
    other, _ = seen.compare("s", "tool", entries(tools("a", description="key hunter2-hunter2 there")))
    assert same[0].change is None
    assert other[0].change is not None


def catalog() -> Catalog:
    """One tool is changed, one new, one gone."""
    made = Catalog()
    made.seen.take("s", "tool", salvage("s", "tool", tools("a", "b", "c")))
    found, gone = made.seen.compare("s", "tool", entries([*tools("a"), *tools("b", title="x"), *tools("d")]))
    made.put(Listing("s", "tool", found, "fresh", gone=gone))
    return made


def test_an_entry_that_was_looked_at_is_marked_no_more_but_for_a_tool_that_changed() -> None:
    made = catalog()
    told: list[str] = []
    made.looked.connect(told.append)
    made.acknowledge(Ref("tool", "s", "b"))
    assert [change.kind for change in made.listing("s", "tool").changes] == ["changed", "new", "gone"]
    made.accept(Ref("tool", "s", "b"))
    assert [change.kind for change in made.listing("s", "tool").changes] == ["new", "gone"]
    assert {"title": "x"}.items() <= dict(made.seen.items("s", "tool")[1]).items()  # type: ignore[arg-type]
    made.acknowledge(Ref("tool", "s", "c"))
    assert made.listing("s", "tool").gone == ()
    assert told == ["s", "s"]
    made.acknowledge(Ref("tool", "s", "a"))
    assert told == ["s", "s"]


def test_all_of_a_kind_can_count_as_seen() -> None:
    made = catalog()
    assert made.acknowledge_all("prompt") == 0
    assert made.acknowledge_all("tool") == 3
    listing = made.listing("s", "tool")
    assert listing.changes == () and len(listing.entries) == 3
    again, gone = made.seen.compare("s", "tool", listing.entries)
    assert not gone and not any(entry.change for entry in again)


def test_a_server_that_is_forgotten_leaves_nothing_behind() -> None:
    made = catalog()
    made.forget("s")
    assert made.seen.known == {}
