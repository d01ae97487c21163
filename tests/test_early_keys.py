"""What is typed before the screen is there is not lost, and is what was typed."""

from __future__ import annotations

from tests.support import python_server
from tests.walker import Walker, studio

SERVER = python_server("raw_server")


def at_first_frame(walker: Walker) -> None:
    """Wait for the very first output: Textual is not even imported then."""
    while not walker.chunks:
        assert walker.pump(5), "no first frame"


def test_the_quit_key_works_from_the_first_frame_on() -> None:
    with studio("--", *SERVER) as walker:
        at_first_frame(walker)
        assert walker.quit(limit=30) < 25
        assert walker.process.returncode == 0


def test_enter_over_the_first_frame_runs_nothing() -> None:
    with studio("--", *SERVER) as walker:
        at_first_frame(walker)
        walker.press(b"\r")
        walker.shows("w add", "following")
        assert walker.quit(limit=30) < 25
        assert b"Nothing is open yet" not in walker.written(), "enter came as ^j, which runs what is open"
