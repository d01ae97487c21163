"""The pictures are all there, small, and ask nothing of the network or of the machine that drew them."""

from __future__ import annotations

import re
from pathlib import Path
from xml.etree import ElementTree

import pytest

from screenshots.make import PICTURES
from screenshots.svg import plain
from tests.support import ROOT

TOUR = ROOT / "screenshots" / "tour.svg"
FILES = sorted(file for file in (ROOT / "screenshots").glob("*.svg") if file != TOUR)


def test_every_picture_that_can_be_drawn_is_there_and_no_other() -> None:
    assert [file.stem for file in FILES] == sorted(picture.name for picture in PICTURES)


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_a_picture_is_small_and_loads_nothing(file: Path) -> None:
    svg = file.read_text("utf-8")
    assert len(svg.encode()) < 120 * 1024
    assert set(re.findall(r"url\((.)", svg)) == {"#"}
    assert "@font-face" not in svg and "href" not in svg and "<script" not in svg


def test_the_recording_is_small_plays_by_itself_and_loads_nothing() -> None:
    svg = TOUR.read_text("utf-8")
    assert len(svg.encode()) < 700 * 1024
    ElementTree.fromstring(svg)
    assert set(re.findall(r'href="(.)', svg)) == {"#"} and "<script" not in svg and "@keyframes" in svg


@pytest.mark.parametrize("file", [*FILES, TOUR], ids=lambda file: file.stem)
def test_a_picture_shows_nothing_of_the_machine_that_drew_it(file: Path) -> None:
    words = file.read_text("utf-8").replace("\N{NO-BREAK SPACE}", " ")
    assert not re.search(r"/(home|root|tmp|usr|work|Users)/", words)


def test_texts_are_as_long_as_their_cells_and_neighbours_of_one_colour_are_one() -> None:
    box = '<rect fill="#111" x="{}" y="1.5" width="12.2" height="24.65" shape-rendering="crispEdges"/>'
    svg = box.format(0) + box.format(12.2) + '<text class="terminal-1-r1" x="0" textLength="24.4">漢字</text>'
    assert plain(svg, "name") == (
        box.format(0).replace('width="12.2"', 'width="24.4"') + "\n"
        '<text class="name-r1" x="0" textLength="48.8">漢字</text>\n'
    )
