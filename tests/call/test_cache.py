"""What is kept of reads, for how long, and what makes it go."""

from __future__ import annotations

import pytest

from mcp_studio.call.call import Call, Succeeded
from mcp_studio.call.caller import ResourceReads
from mcp_studio.catalog.listing import Ref
from mcp_studio.jsontext import Json
from mcp_studio.limits import MB

LIST_CHANGED = "notifications/resources/list_changed"
UPDATED = "notifications/resources/updated"


class Stage:
    """Reads with a clock that stands still until it is moved."""

    def __init__(self) -> None:
        self.now = 100.0
        self.reads = ResourceReads(lambda: self.now)

    def read(self, uri: str = "a:b", server: str = "s", *, ttl: int = 60, size: int = 10, sendings: int = 1) -> None:
        result: Json = {"contents": [], "ttlMs": ttl * 1000, "cacheScope": "private"}
        call = Call(Ref("resource", server, uri), "resources/read", {}, started=self.now, sendings=sendings)
        self.reads.keep(call, Succeeded(result=result, size=size))

    def has(self, uri: str = "a:b", server: str = "s") -> bool:
        return self.reads.get(server, uri) is not None


def test_a_result_is_given_again_until_its_time_has_passed() -> None:
    stage = Stage()
    stage.read()
    stage.now += 59
    found = stage.reads.get("s", "a:b")
    assert found is not None and found.cached is not None and found.cached.age == 59
    stage.now += 1
    assert not stage.has()


def test_other_servers_and_addresses_have_their_own() -> None:
    stage = Stage()
    stage.read()
    assert not stage.has(server="t") and not stage.has("a:c")


@pytest.mark.parametrize(("ttl", "sendings", "size"), [(0, 1, 10), (60, 2, 10), (60, 1, 16 * MB + 1)])
def test_what_is_not_to_be_kept_replaces_what_was(ttl: int, sendings: int, size: int) -> None:
    stage = Stage()
    stage.read()
    stage.read(ttl=ttl, sendings=sendings, size=size)
    assert not stage.has()


def test_the_oldest_go_when_there_are_too_many_or_too_large_ones() -> None:
    stage = Stage()
    for number in range(201):
        stage.read(f"a:{number}")
    assert not stage.has("a:0") and stage.has("a:1")
    stage.read("a:large", size=16 * MB)
    assert stage.has("a:large") and not stage.has("a:200")


@pytest.mark.parametrize(
    ("named", "left"), [("a://x", ["a://xy"]), ("a://x/part", ["a://xy"]), ("a://other", ["a://x", "a://xy"])]
)
def test_an_update_forgets_the_resource_and_what_it_is_a_part_of(named: str, left: list[str]) -> None:
    stage = Stage()
    for uri in ("a://x", "a://xy"):
        stage.read(uri)
    stage.reads.on_notification("s", UPDATED, named)
    assert [uri for uri in ("a://x", "a://xy") if stage.has(uri)] == left


def test_a_change_while_it_is_read_keeps_nothing() -> None:
    stage = Stage()
    stage.reads.on_notification("s", UPDATED, "a:other")
    stage.read()
    assert not stage.has()


def test_a_changed_list_and_a_new_connection_forget_all_of_that_server_only() -> None:
    stage = Stage()
    stage.read()
    stage.read(server="t")
    stage.reads.on_notification("s", "notifications/tools/list_changed", None)
    assert stage.has()
    stage.reads.on_notification("s", LIST_CHANGED, None)
    assert not stage.has() and stage.has(server="t")
    stage.reads.forget("t")
    assert not stage.has(server="t")
