"""Light data classes behave as those of the standard library."""

from __future__ import annotations

import copy
import pickle
from dataclasses import field, fields, replace

import pytest

from mcp_studio.record import record


@record(frozen=True)
class Place:
    """Somewhere."""

    name: str
    height: float = 0.0
    tags: list[str] = field(default_factory=list)

    @property
    def title(self) -> str:
        return self.name.title()


@record(frozen=True)
class Town(Place):
    """A place with people."""

    people: int = 0


@record()
class Walker:
    """Somebody on the way."""

    at: Place
    steps: int = 0


@record(frozen=True)
class Note:
    """What is said counts, when it was is beside it."""

    text: str
    when: float = field(default=0.0, compare=False)


@record(eq=False)
class Stone:
    """Each is another."""

    weight: int


def test_fields_defaults_and_words() -> None:
    place = Place("rome", tags=["old"])
    assert (place.name, place.height, place.tags, place.title) == ("rome", 0.0, ["old"], "Rome")
    assert repr(place) == "Place(name='rome', height=0.0, tags=['old'])"
    assert [one.name for one in fields(Place)] == ["name", "height", "tags"]
    assert Place("a").tags is not Place("a").tags


def test_what_is_missing_or_unknown_is_refused() -> None:
    with pytest.raises(TypeError, match="name"):
        Place()  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="depth"):
        Place("a", depth=3)  # type: ignore[call-arg]


def test_equality_goes_by_fields_and_kind() -> None:
    assert Place("a") == Place("a") != Place("b")
    assert Place("a") != Town("a")
    assert Stone(1) != Stone(1)
    assert Walker(Place("a")) == Walker(Place("a"))


def test_frozen_ones_have_a_hash() -> None:
    place = Place("a", tags=())  # type: ignore[arg-type]
    assert hash(place) == hash(Place("a", tags=()))  # type: ignore[arg-type]
    assert hash(Stone(1))
    with pytest.raises(TypeError):
        hash(Walker(place))


def test_others_have_slots_and_can_be_changed() -> None:
    walker = Walker(Place("a"))
    walker.steps = 3
    assert walker == Walker(Place("a"), 3)
    with pytest.raises(AttributeError):
        walker.shoes = 2  # type: ignore[attr-defined]


def test_one_that_holds_itself_can_be_shown() -> None:
    walker = Walker(Place("a"))
    walker.at = walker  # type: ignore[assignment]
    assert repr(walker) == "Walker(at=..., steps=0)"


def test_they_are_replaced_copied_matched_and_inherited_from() -> None:
    town = Town("a", 3.0, people=7)
    assert replace(town, height=4.0) == Town("a", 4.0, people=7)
    assert copy.deepcopy(town) == town == pickle.loads(pickle.dumps(town))
    match town:
        case Town(name, height):
            assert (name, height) == ("a", 3.0)
        case _:
            pytest.fail("not matched")


def test_fields_that_are_not_compared_are_not() -> None:
    assert Note("a", 1) == Note("a", 2) != Note("b", 2)
    assert hash(Note("a", 1)) == hash(Note("a", 2))
