"""What is typed goes where it was meant for, and nothing typed is lost."""

from __future__ import annotations

from tests.support import python_server
from tests.test_bad_input import open_tool
from tests.walker import studio

SERVER = ("--", *python_server("raw_server"))


def test_a_question_is_declined_by_its_letter_on_a_plain_terminal() -> None:
    with studio(*SERVER) as walker:
        walker.shows("r echo", "⏎ Open")
        open_tool(walker, "name first", "3 target › ask")
        walker.go("^j", "What is your name")
        walker.go("tab tab tab")
        walker.drain(0.3)
        walker.press(b"d")
        walker.shows("decline", "✓ ok")
        assert walker.leave() == 0


def test_text_that_is_no_json_is_not_sent_and_survives_other_tabs_another_tool_and_a_restart() -> None:
    with studio("demo") as walker:
        walker.shows("r list_books", "⏎ Open")
        open_tool(walker, "set_stock", "3 demo › set_stock")
        walker.go("^pgdn", r" 1 +{")
        walker.go("end")
        walker.paste('"id": ', '"id": ')
        walker.go("^j", "✗", "No result yet")
        walker.go("^pgdn", "▾ {")
        walker.go("^pgup", '"id": ')
        open_tool(walker, "form_nested", "3 demo › form_nested")
        open_tool(walker, "set_stock", "3 demo › set_stock")
        walker.go("^pgdn", '"id": ')
        assert walker.leave() == 0
    with studio("demo") as walker:
        walker.shows("r list_books", "⏎ Open")
        open_tool(walker, "set_stock", "3 demo › set_stock")
        walker.go("^pgdn", '"id": ')
        assert walker.leave() == 0
