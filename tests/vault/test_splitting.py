"""Large values are kept in parts; a reader finds the old value or the new one, or is told that something is torn."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_studio.vault.base import VaultDamaged
from mcp_studio.vault.oskeyring import Split

LIMIT = 110
"""Enough for a header."""


class Killed(Exception):
    """The process ended here."""


class Shelf:
    """Takes little at a time, as the Windows Credential Manager does, and may end before any change."""

    def __init__(self) -> None:
        self.kept: dict[str, str] = {}
        self.changes = 0
        self.last = 10_000
        """The change before which the process ends."""

    def get(self, name: str) -> str | None:
        return self.kept.get(name)

    def set(self, name: str, value: str) -> None:
        self._change()
        assert len(value.encode("utf-16-le", "surrogatepass")) <= 2 * LIMIT, "more than it takes"
        self.kept[name] = value

    def delete(self, name: str) -> bool:
        if name in self.kept:
            self._change()
        return self.kept.pop(name, None) is not None

    def _change(self) -> None:
        if self.changes >= self.last:
            raise Killed
        self.changes += 1


@given(st.lists(st.text(st.characters(exclude_categories=[]), max_size=600), min_size=1, max_size=4))
def test_every_value_is_read_back_and_nothing_stays(values: list[str]) -> None:
    shelf = Shelf()
    split = Split(shelf, LIMIT)
    for value in values:
        split.set("n", value)
        assert split.get("n") == value and "n" in shelf.kept
    assert split.delete("n") and shelf.kept == {} and not split.delete("n")
    assert split.get("n") is None


def test_a_value_that_looks_like_a_header_is_one_all_the_same() -> None:
    shelf = Shelf()
    split = Split(shelf, LIMIT)
    split.set("n", "x" * 500)
    header = shelf.kept["n"]
    split.set("n", header)
    assert split.get("n") == header


SIZES = (20, 300, 900, 250, 10)


@pytest.mark.parametrize("before", SIZES)
@pytest.mark.parametrize("after", SIZES)
def test_whoever_ends_in_the_middle_leaves_the_old_value_or_the_new_one(before: int, after: int) -> None:
    old, new = "o" * before, "n" * after
    for last in range(40):
        shelf = Shelf()
        split = Split(shelf, LIMIT)
        split.set("n", old)
        shelf.last = shelf.changes + last
        try:
            split.set("n", new)
        except Killed:
            assert split.get("n") in (old, new)
            shelf.last = 10_000
            split.set("n", "third " * 50)
            assert split.get("n") == "third " * 50
            assert sorted(shelf.kept) == sorted(("n", *(f"n#{shelf.kept['n'].split()[3]}{i}" for i in (1, 2, 3))))
        else:
            assert split.get("n") == new
            return
    pytest.fail("it never ended")


class Filmed(Shelf):
    """Keeps how it was before each change."""

    def __init__(self) -> None:
        super().__init__()
        self.states: list[dict[str, str]] = []

    def _change(self) -> None:
        self.states.append(dict(self.kept))


class Late(Shelf):
    """What a reader sees who looks at each part one change of the writer later."""

    def __init__(self, states: list[dict[str, str]], at: int) -> None:
        super().__init__()
        self.states, self.at = states, at

    def get(self, name: str) -> str | None:
        self.at += 1
        return self.states[min(self.at, len(self.states)) - 1].get(name)


@pytest.mark.parametrize("after", SIZES)
def test_a_reader_in_the_middle_of_a_write_finds_one_of_the_two(after: int) -> None:
    shelf = Filmed()
    old, new = "o" * 400, "n" * after
    Split(shelf, LIMIT).set("n", old)
    shelf.states.clear()
    Split(shelf, LIMIT).set("n", new)
    states = [*shelf.states, shelf.kept]
    for at in range(len(states)):
        assert Split(Late(states, at), LIMIT).get("n") in (old, new)


@pytest.mark.parametrize("torn", ["n#a2", "n#a1"])
def test_missing_and_foreign_parts_are_told(torn: str) -> None:
    shelf = Shelf()
    split = Split(shelf, LIMIT)
    split.set("n", "x" * 400)
    shelf.kept[torn] = "y"
    with pytest.raises(VaultDamaged, match="`n` is incomplete"):
        split.get("n")
    del shelf.kept[torn]
    with pytest.raises(VaultDamaged, match="not all of them are there") as raised:
        split.get("n")
    assert "sign in again" in raised.value.hint
    split.set("n", "new")
    assert split.get("n") == "new"


def test_what_nobody_could_mean_is_refused() -> None:
    with pytest.raises(VaultDamaged, match="too large"):
        Split(Shelf(), LIMIT).set("n", "x" * (LIMIT * 1_001))
