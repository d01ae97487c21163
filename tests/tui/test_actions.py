"""The table of actions: its own consistency, how keys are written, and what a person may change."""

from __future__ import annotations

import subprocess
import sys

from mcp_studio.tui.actions import ACTIONS, BY_ID, remap, spell, spell_all, table


def test_ids_are_unique() -> None:
    assert len(BY_ID) == len(ACTIONS)


def test_no_two_actions_of_one_scope_share_a_key() -> None:
    assert remap({action.id: action.keys for action in ACTIONS})[1] == ()


def test_every_function_key_has_a_twin() -> None:
    for action in ACTIONS:
        keys = action.keys.split(",")
        if any(key[0] == "f" and key[1:].isdigit() for key in keys):
            assert any(not (key[0] == "f" and key[1:].isdigit()) for key in keys), action.id


def test_no_key_that_terminals_cannot_tell_from_tab_enter_or_escape() -> None:
    taken = {key for action in ACTIONS for key in action.keys.split(",")}
    assert not taken & {"ctrl+i", "ctrl+m", "ctrl+h", "ctrl+left_square_bracket"}


def test_no_key_that_terminals_send_for_a_word_to_the_left_or_right() -> None:
    assert not {"alt+b", "alt+f"} & {key for action in ACTIONS for key in action.keys.split(",")}


def test_keys_are_written_as_people_write_them() -> None:
    assert spell_all("ctrl+j,alt+enter") == "^j alt+enter"
    assert [spell(key) for key in ("question_mark", "f8", "plus", "escape", "f", "shift+tab")] == [
        "?", "F8", "+", "esc", "f", "shift+tab",
    ]  # fmt: skip


def test_a_changed_key_is_taken() -> None:
    assert remap({"call": "ctrl+g, f7"}) == ({"call": "ctrl+g,f7"}, ())


def test_an_unknown_action_is_reported_with_the_nearest_name() -> None:
    good, problems = remap({"cal": "ctrl+g"})
    assert good == {}
    assert "did you mean call?" in problems[0]


def test_an_action_without_a_key_is_reported() -> None:
    assert remap({"call": " , "})[1] == ("[keys] call: no key is given.",)


def test_a_key_given_to_two_actions_of_one_scope_is_reported() -> None:
    _, problems = remap({"jump": "ctrl+n"})
    assert "^n is both jump and new-server" in problems[0]


def test_the_table_shows_changed_keys() -> None:
    rows = {row[1]: row[2] for row in table({"call": "ctrl+g"})}
    assert rows["call"] == "^g"
    assert rows["jump"] == "^o"


def test_the_table_can_be_printed_without_textual() -> None:
    code = "import sys, mcp_studio.tui.actions; print('textual' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout.strip() == "False"


def test_the_keys_of_lists_and_viewers_are_those_of_the_table() -> None:
    from mcp_studio.tui.views.findable import Findable
    from mcp_studio.tui.views.json_view import JsonView
    from mcp_studio.tui.views.text_view import TextView
    from mcp_studio.tui.views.virtual_list import VirtualList
    from textual.binding import Binding

    bound = {
        binding.id: (binding.key, binding.action)
        for view in (VirtualList, TextView, JsonView, Findable)
        for cls in view.__mro__
        for binding in cls.__dict__.get("BINDINGS", ())
        if isinstance(binding, Binding) and binding.id
    }
    known = {action.id: (action.keys, action.method) for action in ACTIONS if action.scope in ("list", "viewer")}
    assert bound == known
