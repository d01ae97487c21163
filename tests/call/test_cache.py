"""What is kept of reads, for how long, and what makes it go."""

from __future__ import annotations

import pytest

from mcp_studio.call.cache import ResourceCache
from mcp_studio.call.call import Call, Succeeded
from mcp_studio.catalog.listing import Ref
from mcp_studio.config.model import Auth, ServerConfig, Settings
from mcp_studio.jsontext import Json
from mcp_studio.limits import MB, Limits

UPDATED = "notifications/resources/updated"
LISTS = [f"notifications/{kind}/list_changed" for kind in ("resources", "tools", "prompts")]


class Stage:
    """Reads with a clock that stands still until it is moved.

    Args:
        usual: `cache_ttl` of the settings.
        own: `cache_ttl` of the servers' entries.
    """

    def __init__(self, usual: float = -1.0, own: float = -1.0) -> None:
        self.now = 100.0
        self.account = ""
        settings = Settings(cache_ttl=usual, limits=Limits(cache_entries=3, cache_bytes=MB))

        def config(name: str) -> ServerConfig:
            return ServerConfig(name, url="http://x.test/", cache_ttl=own, auth=Auth(account=self.account))

        self.reads = ResourceCache(config, settings, lambda: self.now)

    def read(
        self, uri: str = "a:b", server: str = "s", *, ttl: int | None = 60, size: int = 10, sendings: int = 1
    ) -> None:
        hint: dict[str, Json] = {} if ttl is None else {"ttlMs": ttl * 1000, "cacheScope": "private"}
        call = Call(Ref("resource", server, uri), "resources/read", {}, started=self.now, sendings=sendings)
        self.reads.keep(call, Succeeded(result={"contents": [], **hint}, size=size), modern=True)

    def has(self, uri: str = "a:b", server: str = "s") -> bool:
        return self.reads.get(Ref("resource", server, uri)) is not None


def test_a_result_is_given_again_until_its_time_has_passed() -> None:
    stage = Stage()
    assert not stage.has()
    stage.read()
    stage.now += 59
    found = stage.reads.get(Ref("resource", "s", "a:b"))
    assert found is not None and found.cached is not None and found.cached.age == 59
    assert (stage.reads.hits, stage.reads.misses, stage.reads.sizes()) == ({"s": 1}, {"s": 1}, [10])
    assert stage.reads.sizes("s") == [10] and stage.reads.sizes("t") == []
    stage.now += 1
    assert not stage.has()


@pytest.mark.parametrize(
    ("usual", "own", "hinted", "lasts"),
    [
        (-1, -1, None, 0), (-1, -1, 60, 60), (30, -1, None, 30), (30, -1, 60, 60), (30, -1, 0, 0),
        (30, 5, None, 5), (-1, 5, 60, 5), (-1, 5, 0, 5), (0, -1, None, 1e9), (5, 0, 60, 1e9),
    ],
)  # fmt: skip
def test_the_entry_of_the_server_says_how_long_else_the_server_else_the_settings(
    usual: float, own: float, hinted: int | None, lasts: float
) -> None:
    stage = Stage(usual, own)
    stage.read(ttl=hinted)
    stage.now += max(0.0, lasts - 1)
    assert stage.has() is (lasts > 0)
    stage.now += 1
    assert stage.has() is (lasts == 1e9)


def test_other_servers_addresses_and_accounts_have_their_own() -> None:
    stage = Stage()
    stage.read()
    assert not stage.has(server="t") and not stage.has("a:c")
    stage.account = "work"
    assert not stage.has()


@pytest.mark.parametrize(("ttl", "sendings", "size"), [(0, 1, 10), (60, 2, 10), (60, 1, MB + 1)])
def test_what_is_not_to_be_kept_replaces_what_was(ttl: int, sendings: int, size: int) -> None:
    stage = Stage()
    stage.read()
    stage.read(ttl=ttl, sendings=sendings, size=size)
    assert not stage.has() and stage.reads.sizes() == []


def test_what_was_not_used_for_longest_goes_when_there_is_too_much() -> None:
    stage = Stage()
    for number in range(3):
        stage.read(f"a:{number}")
    assert stage.has("a:0")
    stage.read("a:3")
    assert stage.has("a:0") and not stage.has("a:1")
    stage.read("a:large", size=MB)
    assert stage.has("a:large") and stage.reads.sizes() == [MB]


@pytest.mark.parametrize(
    ("named", "left"), [("a://x", ["a://xy"]), ("a://x/part", ["a://xy"]), ("a://other", ["a://x", "a://xy"])]
)
def test_an_update_forgets_the_resource_and_what_it_is_a_part_of(named: str, left: list[str]) -> None:
    stage = Stage(own=0)
    for uri in ("a://x", "a://xy"):
        stage.read(uri)
    stage.reads.on_notification("s", UPDATED, {"uri": named})
    assert [uri for uri in ("a://x", "a://xy") if stage.has(uri)] == left


def test_a_change_while_it_is_read_keeps_nothing() -> None:
    stage = Stage(own=0)
    stage.reads.on_notification("s", UPDATED, {"uri": "a:other"})
    stage.read()
    assert not stage.has()


@pytest.mark.parametrize("method", LISTS)
def test_any_changed_list_forgets_all_of_that_server_only(method: str) -> None:
    stage = Stage(own=0)
    stage.read()
    stage.read(server="t")
    stage.reads.on_notification("s", method, {})
    assert not stage.has() and stage.has(server="t")


def test_by_hand_one_address_one_server_or_all_of_it_is_forgotten() -> None:
    stage = Stage()
    for server, uri in (("s", "a:1"), ("s", "a:2"), ("t", "a:1")):
        stage.read(uri, server)
    assert stage.reads.forget("s", "a:1") == 1 and stage.has("a:2") and stage.has("a:1", "t")
    assert stage.reads.forget("s") == 1 and stage.has("a:1", "t")
    assert stage.reads.forget() == 1 and stage.reads.sizes() == []
