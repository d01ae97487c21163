"""What is kept of reads, for how long, and what empties it."""

from __future__ import annotations

from mcp_studio.call.cache import ReadCache
from mcp_studio.protocol.versions import Hint

MINUTE = Hint(60, "private")


class Clock:
    """A clock that stands still until it is moved."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def cache(**bounds: int) -> tuple[ReadCache, Clock]:
    clock = Clock()
    return ReadCache(clock=clock, **bounds), clock


def test_a_result_is_given_again_until_its_time_has_passed() -> None:
    kept, clock = cache()
    kept.put("s", "a:b", {"n": 1}, 10, MINUTE)
    clock.now += 59
    found = kept.get("s", "a:b")
    assert found is not None and found[0].result == {"n": 1} and found[1] == (59, MINUTE)
    clock.now += 1
    assert kept.get("s", "a:b") is None
    assert len(kept) == 0


def test_other_servers_and_addresses_have_their_own() -> None:
    kept, _ = cache()
    kept.put("s", "a:b", 1, 10, MINUTE)
    assert kept.get("t", "a:b") is None
    assert kept.get("s", "a:c") is None


def test_what_is_not_to_be_kept_replaces_what_was() -> None:
    for hint in (None, Hint(0, "public")):
        kept, _ = cache()
        kept.put("s", "a:b", 1, 10, MINUTE)
        kept.put("s", "a:b", 2, 10, hint)
        assert kept.get("s", "a:b") is None


def test_the_longest_unused_goes_first_when_there_are_too_many() -> None:
    kept, _ = cache(entries=2)
    kept.put("s", "a:1", 1, 10, MINUTE)
    kept.put("s", "a:2", 2, 10, MINUTE)
    kept.get("s", "a:1")
    kept.put("s", "a:3", 3, 10, MINUTE)
    assert [kept.get("s", f"a:{n}") is not None for n in (1, 2, 3)] == [True, False, True]


def test_bytes_are_bounded_and_what_is_larger_than_all_is_not_kept() -> None:
    kept, _ = cache(size=100)
    for n in range(4):
        kept.put("s", f"a:{n}", n, 40, MINUTE)
    assert len(kept) == 2
    kept.put("s", "a:large", 1, 101, MINUTE)
    assert kept.get("s", "a:large") is None and len(kept) == 2


def test_an_update_forgets_the_resource_and_what_it_is_a_part_of() -> None:
    updated = "notifications/resources/updated"
    for told, left in (("a://x", ["a://xy"]), ("a://x/part", ["a://xy"]), ("a://other", ["a://x", "a://xy"])):
        kept, _ = cache()
        for uri in ("a://x", "a://xy"):
            kept.put("s", uri, 1, 10, MINUTE)
        kept.on_notification("s", updated, told)
        assert [uri for uri in ("a://x", "a://xy") if kept.get("s", uri)] == left


def test_a_changed_list_and_a_new_connection_forget_all_of_that_server_only() -> None:
    for forget in (
        lambda kept: kept.on_notification("s", "notifications/resources/list_changed", None),
        lambda kept: kept.forget("s"),
    ):
        kept, _ = cache()
        kept.put("s", "a:1", 1, 10, MINUTE)
        kept.put("t", "a:1", 1, 10, MINUTE)
        kept.on_notification("s", "notifications/tools/list_changed", None)
        assert kept.get("s", "a:1") is not None
        forget(kept)
        assert kept.get("s", "a:1") is None
        assert kept.get("t", "a:1") is not None
