"""The search palette on a terminal: keys as they come from a keyboard, at once and one after the other."""

from __future__ import annotations

from tests.support import python_server
from tests.walker import key, studio


def test_a_person_finds_runs_and_comes_back_by_keys_alone() -> None:
    with studio("--", *python_server("raw_server"), columns=80, rows=24) as walker:
        walker.shows("1/1 servers", "echo")
        # All of it in one go, as fast hands, or a slow line, deliver it.
        walker.press(key("^f") + b"what it gets\r")
        walker.shows(r"3 \S+\.echo", r"text \*", "No result yet")
        walker.go("^f", "what it gets", "matched by", r"1×  Gives back")
        walker.press(b"ends in" + key("^j"))
        walker.shows("Run target.fail")
        walker.go("y", "It went wrong")
        walker.go("^f ^t ^t", "resources")
        walker.go("esc", gone="matched by")
        assert walker.leave() == 0
