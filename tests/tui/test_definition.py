"""Definitions in words, and how changes and ages are written."""

from __future__ import annotations

from typing import Any

from mcp_studio.tui.changed import briefly, freshness, mark, summary

from mcp_studio.catalog.listing import Change, Entry, Listing, salvage
from mcp_studio.present.definition import about, icons
from mcp_studio.protocol.versions import Hint
from mcp_studio.safetext import is_live

EVIL = "\x1b[2J\x07\u202e\r\nheaders        forged\x00\x9b[@click=app.quit]"


def entry(kind: Any, **raw: Any) -> Entry:
    (made,) = salvage("s", kind, [raw])
    return made


def lines(kind: Any, value: Any = None, sends: bool = False, **raw: Any) -> list[str]:
    return about(entry(kind, **raw), value, sends).split("\n")


def test_hints_that_are_not_given_say_what_holds_then() -> None:
    said = lines("tool", name="t", inputSchema={}, annotations={"destructiveHint": False, "own": {"x": 1}})
    assert "  readOnly     not said, so false" in said
    assert "  destructive  false" in said
    assert "  openWorld    not said, so true" in said
    assert '  own          {"x":1}' in said


def test_tasks_are_told_apart() -> None:
    for support, words in (("required", "must be run as a task"), ("forbidden", "not run as a task (forbidden)")):
        assert f"tasks          {words}" in lines("tool", name="t", inputSchema={}, execution={"taskSupport": support})
    assert not any(line.startswith("tasks") for line in lines("tool", name="t", inputSchema={}))


def test_icons_are_listed_as_what_they_are_said_to_be() -> None:
    found = list(
        icons([{"src": "https://e.example/i.svg", "mimeType": "image/svg+xml", "sizes": ["any"], "theme": "dark"}, 7])
    )
    assert found[1:] == ["  https://e.example/i.svg · image/svg+xml · any · dark", "  no src"]
    (_, large) = icons([{"src": "data:image/png;base64," + "A" * 5_000}])
    assert len(large) < 100 and "of data" in large
    assert list(icons("none")) == [] and list(icons([])) == []


def test_members_without_a_place_of_their_own_are_named() -> None:
    assert any(line.startswith("also") and "newThing" in line for line in lines("prompt", name="p", newThing=1))


def test_no_text_of_a_server_acts_or_makes_a_line_of_ours() -> None:
    raw: dict[str, Any] = {key: EVIL for key in ("title", "description", "mimeType")}
    raw |= {
        "icons": [{"src": EVIL, "sizes": EVIL}],
        "_meta": {EVIL: EVIL},
        "annotations": {EVIL: EVIL, "audience": [EVIL]},
    }
    kinds: dict[str, dict[str, Any]] = {
        "tool": {"name": EVIL, "inputSchema": {}, "execution": {"taskSupport": EVIL}},
        "resource": {"uri": EVIL, "name": EVIL},
        "template": {"uriTemplate": EVIL},
        "prompt": {"name": EVIL, "arguments": [{"name": EVIL, "title": EVIL}, EVIL]},
    }
    for kind, more in kinds.items():
        said = lines(kind, None, False, **raw, **more)
        assert not any(is_live(char) for line in said for char in line)
        assert not any(line.startswith("headers") for line in said)


def test_changes_are_counted_and_shortened_where_there_is_no_room() -> None:
    changes = [Change("new"), Change("gone"), Change("new"), Change("changed", ("title",), {})]
    assert summary(changes, 40) == "2 new, 1 changed, 1 gone"
    assert summary(changes, 10) == "+2 ±1 -1"
    assert summary([], 40) == ""
    assert mark(Change("new"), 30)[0] == " + new" and mark(Change("gone"), 5)[0] == " -"


def listing(ttl: float, read_at: float = 100.0) -> Listing:
    return Listing("s", "tool", (), "fresh", read_at=read_at, hint=Hint(ttl, "public"))


def test_the_age_of_a_list_is_told_in_words() -> None:
    assert freshness(listing(60), 103) == "read 3 s ago, fresh for 57 s, public"
    assert freshness(listing(0), 103) == "read 3 s ago, not to be kept (ttl 0), public"
    assert freshness(listing(60), 190) == "read 90 s ago, stale since 30 s, read again when it is looked at, public"
    assert freshness(Listing("s", "tool", (), "fresh", read_at=100), 220) == "read 2 min ago"
    assert freshness(Listing("s", "tool")) == ""


def test_the_border_tells_of_the_list_that_is_stale_first() -> None:
    assert briefly([listing(60), listing(30)], 110) == "fresh 20 s"
    assert briefly([listing(60), listing(5)], 110).endswith("stale")
    assert briefly([listing(0), Listing("s", "tool")], 110) == ""
