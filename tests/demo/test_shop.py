"""The bookshop without any protocol."""

from __future__ import annotations

import io
import wave

import pytest
from PIL import Image

from mcp_studio.errors import StudioError
from mcp_studio.servers.demo import resources
from mcp_studio.servers.demo.__main__ import complete
from mcp_studio.servers.demo.shop import BOOKS, GENRES, Shop


def test_every_shelf_has_books_and_ids_are_unique() -> None:
    assert {book.genre for book in BOOKS} == set(GENRES)
    assert len({book.id for book in BOOKS}) == len(BOOKS)


def test_selling_moves_money_and_copies() -> None:
    shop = Shop()
    book = shop.sell("twelve-soups", 0)
    assert book.stock == 0
    shop.sell("islands-by-bicycle", 2)
    assert (shop.takings, shop.sales, shop.book("islands-by-bicycle").stock) == (39.8, 2, 7)


def test_more_than_there_is_cannot_be_sold_and_nothing_changes() -> None:
    shop = Shop()
    with pytest.raises(StudioError, match=r"Only 1 of 'Slow Trains North' left, 2 wanted\."):
        shop.sell("slow-trains-north", 2)
    assert (shop.takings, shop.book("slow-trains-north").stock) == (0, 1)


def test_a_second_book_of_the_same_title_gets_its_own_id() -> None:
    shop = Shop()
    ids = [shop.add("Moss & Rain!", "A", "science", 1.0, 2026, 1).id for _ in range(3)]
    assert ids == ["moss-rain", "moss-rain-2", "moss-rain-3"]
    assert shop.add("!!!", "A", "science", 1.0, 2026, 1).id == "book"


def test_reset_forgets_everything() -> None:
    shop = Shop()
    shop.remove("twelve-soups")
    shop.sell("islands-by-bicycle", 1)
    shop.reset()
    assert (len(shop.books()), shop.takings) == (len(BOOKS), 0)


def test_the_picture_is_a_png() -> None:
    picture = Image.open(io.BytesIO(resources.PICTURE))
    picture.load()
    assert (picture.format, picture.size, picture.mode) == ("PNG", (96, 96), "RGB")
    assert picture.getpixel((48, 48)) != picture.getpixel((0, 0))


def test_the_sound_is_half_a_second_of_wav() -> None:
    with wave.open(io.BytesIO(resources.BELL)) as sound:
        assert sound.getnframes() / sound.getframerate() == 0.5
        assert max(sound.readframes(100)) > 0


@pytest.mark.parametrize("kilobytes", [1, 100])
def test_long_texts_have_about_the_size_asked_for(kilobytes: int) -> None:
    assert kilobytes * 1024 <= len(resources.long_text(kilobytes)) <= kilobytes * 1024 + 80


def test_completion_prefers_beginnings_over_insides_and_counts_all() -> None:
    answer = complete(Shop(), "recommend", "genre", "t", {})["completion"]
    assert answer["values"] == ["travel", "adventure", "mystery", "poetry"]
    assert (answer["total"], answer["hasMore"]) == (4, False)


def test_completion_looks_at_the_other_arguments() -> None:
    answer = complete(Shop(), "gift", "title", "", {"author": "Noor Castell"})["completion"]
    assert answer["values"] == ["A Lamp in the Reeds", "Slow Trains North"]
