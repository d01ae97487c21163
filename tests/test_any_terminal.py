"""Whatever the terminal is: typed into before the screen is there, of any size, without colours."""

from __future__ import annotations

import re

import pytest

from tests.support import python_server
from tests.test_bad_input import open_tool
from tests.walker import Walker, key, studio

SERVER = python_server("raw_server")


def at_first_output(walker: Walker) -> None:
    """Wait for the line that is there before the screen: Textual is not even imported then."""
    while not walker.chunks:
        assert walker.pump(5), "no output"


def test_the_quit_key_works_from_the_first_output_on() -> None:
    with studio("--", *SERVER) as walker:
        at_first_output(walker)
        assert walker.quit(limit=30) < 25
        assert walker.process.returncode == 0


def test_enter_before_the_screen_is_there_runs_nothing_and_an_empty_no_color_means_nothing() -> None:
    with studio("--", *SERVER, env={"NO_COLOR": ""}) as walker:
        at_first_output(walker)
        walker.press(b"\r")
        walker.shows("w add", "● target")
        assert walker.leave() == 0
        assert b"No tool selected. " not in walker.written(), "enter came as ^j, which runs what is open"
        looks = re.findall(rb"38;2;(\d+);(\d+);(\d+)", walker.written())
        assert any(len({*look}) > 1 for look in looks), "more than greys"


def test_a_terminal_that_is_too_small_says_so_and_can_be_left() -> None:
    with studio("--", *SERVER, columns=33, rows=24) as walker:
        for columns, rows in ((33, 24), (32, 24), (120, 9), (1, 1)):
            if columns != walker.columns:
                walker.size(columns, rows)
            said = "The terminal is too small (needs 40x10)"
            walker.shows(re.escape(said) if columns >= len(said) else said[: min(columns, 3)])
            walker.drain(0.1)
            before = walker.cpu()
            walker.press(b"j\r")  # nothing that is not seen is acted on
            walker.drain(0.3)
            assert walker.cpu() - before < 1
        assert walker.leave() == 0


def test_the_studio_comes_back_with_its_dialogs_when_the_terminal_grows() -> None:
    with studio("--", *SERVER, columns=5, rows=2) as walker:
        walker.shows("The")
        for _ in range(2):
            walker.size(120, 36)
            walker.shows("w add", "● target")
            walker.size(1, 1)
            walker.shows("T")
        walker.size(120, 36)
        walker.shows("w add", "● target")
        walker.go("^n", "Add a server")
        walker.paste("python -m things", "python -m things")
        for small in ((30, 8), (1, 1), (39, 30)):
            walker.size(*small)
            walker.shows("T")
            walker.press(key("esc") + b"xyz")
            walker.drain(0.1)  # before the terminal grows again
        walker.size(100, 30)
        walker.shows("Add a server", "python -m things")
        walker.size(20, 5)
        walker.shows("too")
        assert walker.leave() == 0


def colours(data: bytes) -> set[str]:
    """The parameters of all sequences for colours."""
    told = {one for found in re.findall(rb"\x1b\[([0-9;:]*)m", data) for one in re.split("[;:]", found.decode())}
    return {one for one in told if re.fullmatch("3[0-8]|4[0-8]|9[0-7]|10[0-7]", one)}


def test_no_color_draws_without_any_colour_and_shows_where_the_focus_is() -> None:
    with studio("demo", env={"NO_COLOR": "1"}) as walker:
        walker.shows("r list_books", "⏎ Open", "2 Catalog")
        walker.go("down", r"r find_books")
        assert re.search(rb"\x1b\[[0-9;]*7m[^\x1b]*find_books", walker.written()), "the cursor is reversed"
        walker.go("enter", "3 demo › find_books")
        walker.go("^j", "Not sent")  # a message at the corner, and a field with a problem
        walker.go("^pgdn", r" 1 +{")
        walker.paste('"text": "tide", "more": [1, true, null', "tide")
        walker.go("f1", "─ Help: ")
        walker.go("esc", gone="─ Help: ")
        walker.go("^p", "Actions, tools")
        walker.go("esc")
        assert walker.leave() == 0
        assert not colours(walker.written())


KITTY = {"TERM": "xterm-kitty", "TMUX": "", "STY": "", "ZELLIJ": ""}
YES, ALIVE = b"\x1b_Gi=1;OK\x1b\\", re.compile(rb"\x1b\[5n")
AT_ONCE = [(re.compile(rb"\x1b_G[^;]*a=q[^;]*;"), YES), (ALIVE, b"\x1b[0n")]
LATE = [(ALIVE, b"\x1b[?62;1c" + YES + b"\x1b[0n")]
"""At a slow link all answers come after the library's wait, in the order of the questions."""
SIXEL = [(re.compile(rb"\x1b\[c"), b"\x1b[?62;4c"), (re.compile(rb"\x1b\[16t"), b"\x1b[6;20;10t"), (ALIVE, b"\x1b[0n")]
SENT = {"kitty": rb"\x1b_Gi=\d+,m=[01],f=100", "sixel": rb'\x1bP0;0;0q"1;1;\d+;\d+#[^\x1b]+\x1b\\'}
"""What is sent to the terminal for a picture."""


def pictures(walker: Walker, kind: str, least: int = 0) -> int:
    """How many pictures of a kind were sent so far; waits until there are `least`."""
    while (count := len(re.findall(SENT[kind], walker.written()))) < least:
        assert walker.pump(20), f"{count} pictures"
    return count


@pytest.mark.parametrize(
    ("env", "replies", "kind"),
    [
        (KITTY, AT_ONCE, "kitty"),
        (KITTY, [], ""),
        (KITTY, LATE, "kitty"),
        ({**KITTY, "TMUX": "/tmp/tmux,1,0"}, AT_ONCE, ""),
        ({**KITTY, "TERM": "foot"}, SIXEL, "sixel"),
    ],
    ids=["kitty", "kitty-silent", "kitty-late", "tmux", "sixel"],
)
def test_images_are_pictures_where_the_terminal_says_so_and_half_blocks_elsewhere(
    env: dict[str, str], replies: list[tuple[re.Pattern[bytes], bytes]], kind: str
) -> None:
    with studio("demo", env=env) as walker:
        if kind == "sixel":  # which the terminal says instead of what others say
            walker.replies = [one for one in walker.replies if not one[0].search(b"\x1b[c")]
        walker.replies += replies
        walker.shows("r list_books", "⏎ Open")
        open_tool(walker, "show_image", "› show_image")
        walker.go("^j", "ok", "image/png")
        walker.shows({"kitty": "(\U0010eeee.{3}){10}", "sixel": "image/png", "": "▀{10}"}[kind])
        before = pictures(walker, kind, 1) if kind else 0
        walker.go("f1", "─ Help: ")  # the screen is whole
        walker.go("esc", gone="─ Help: ")
        walker.shows("› show_image", "r Re-run")
        assert kind != "sixel" or pictures(walker, kind, before + 1), "drawn again"
        assert walker.leave() == 0
        assert {one for one in SENT if pictures(walker, one)} == {kind} - {""}
