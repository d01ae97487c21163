"""The table of actions: its own consistency, that all of it can be done, how keys are written, what may be changed."""

from __future__ import annotations

import re
import subprocess
import sys
from importlib import import_module
from pkgutil import walk_packages
from typing import get_args

import pytest
from textual.app import App
from textual.binding import Binding
from textual.dom import DOMNode
from textual.keys import format_key

from mcp_studio import tui
from mcp_studio.tui.actions import (
    ACTIONS,
    KEYS,
    MOVEMENT,
    PANES,
    Scope,
    bindings,
    remap,
    scoped,
    spell,
    spell_all,
    table,
)


def all_classes() -> set[type[DOMNode]]:
    """Every widget, screen and app of the studio."""
    for module in walk_packages(tui.__path__, tui.__name__ + "."):
        import_module(module.name)
    found: set[type[DOMNode]] = set()
    new: list[type[DOMNode]] = [DOMNode]
    while new:
        found.update(more := new.pop().__subclasses__())
        new += more
    return {cls for cls in found if cls.__module__.startswith(tui.__name__)}


def test_no_key_needs_alt_or_what_terminals_cannot_tell_apart() -> None:
    keys = [key for row in KEYS.values() for key in row.keys.split(",")]
    assert not [key for key in keys if "alt" in key or "option" in key]
    assert not {"ctrl+i", "ctrl+m", "ctrl+h", "ctrl+left_square_bracket"} & set(keys)


def test_every_function_key_has_a_twin() -> None:
    for id, row in KEYS.items():
        keys = row.keys.split(",")
        assert any(not (key[0] == "f" and key[1:].isdigit()) for key in keys), id


def test_a_key_has_one_meaning_everywhere() -> None:
    keys = [key for row in KEYS.values() for key in row.keys.split(",")]
    assert len(keys) == len(set(keys))
    assert len(KEYS) - len(MOVEMENT) <= 50
    verbs = {id: row.verbs or re.escape(re.split(r"\W", row.meaning)[0]) for id, row in KEYS.items()}
    others = [one for one in ACTIONS if one.keys and not re.match(rf"(?:{verbs[one.id]})(?!\w)", one.title)]
    assert not others, "these titles give their key another meaning"


def test_an_action_stands_once_in_its_scope_and_every_scope_has_some() -> None:
    rows = [(action.scope, action.id) for action in ACTIONS]
    assert len(rows) == len(set(rows))
    assert {scope for scope, _ in rows} == set(get_args(Scope))
    assert not KEYS.keys() - {id for _, id in rows}


def test_every_action_is_bound_or_named_where_there_is_a_method_for_it() -> None:
    """Panes and main screen are in the palette; the other scopes are found by the bindings of what has the focus."""
    done: set[tuple[str, str]] = set()
    for cls in all_classes():
        bound = [binding for binding in cls.__dict__.get("BINDINGS", ()) if isinstance(binding, Binding)]
        titles = {(binding.id or "", str(binding.tooltip)) for binding in bound}
        scopes: set[Scope] = {action.scope for action in ACTIONS if (action.id, action.title) in titles}
        titles |= {(action.id, action.title) for action in scoped(*scopes) if not action.keys}
        for action in ACTIONS:
            named = action.scope in (*PANES, "main") and cls.__name__ in ("MainScreen", f"{action.scope.title()}Pane")
            here = cls.__name__ == "MainScreen" if action.scope == "main" else cls.__name__ != "MainScreen"
            if ((action.id, action.title) in titles or (named and here)) and hasattr(cls, f"action_{action.id}"):
                done.add((action.scope, action.id))
    missing = {(action.scope, action.id) for action in ACTIONS} - done
    assert not missing, missing


def test_the_footer_of_no_pane_is_longer_than_eight_keys() -> None:
    main = [action for action in scoped("main") if action.show and action.id not in ("cancel", "pending")]
    assert [action.id for action in main][:2] == ["back", "quit"]
    for scope in (*PANES, "tasks", "history"):
        shown = [action for action in (*scoped(scope), *main) if action.show]
        keys = [format_key(action.keys.split(",")[0]).replace("ctrl+", "^") for action in shown]
        words = [f"{key} {action.short or action.title}" for key, action in zip(keys, shown, strict=True)]
        assert len(words) <= 8 and sum(len(word) + 2 for word in words) <= 80, words


def test_keys_with_ctrl_and_those_that_open_a_field_act_first_and_letters_do_not() -> None:
    found = [binding for binding in bindings("main", "catalog") if isinstance(binding, Binding)]
    first, others = (
        {key for one in found if one.priority is way for key in one.key.split(",")} for way in (True, False)
    )
    assert {key for key in first if not key.startswith("ctrl+")} == {"slash", "colon"}
    assert not any(key.startswith("ctrl+") for key in others)


def test_keys_are_written_as_people_write_them() -> None:
    assert spell_all("ctrl+j,ctrl+enter") == "^j ctrl+enter"
    assert [spell(key) for key in ("question_mark", "f8", "plus", "escape", "f", "shift+tab")] == [
        "?", "F8", "+", "esc", "f", "shift+tab",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("settings", "usable", "problems"),
    [
        ({"zoom": "ctrl+t, f7"}, {"zoom": "ctrl+t,f7"}, ()),
        ({"zom": "ctrl+t"}, {}, ("[keys] zom: there is no such action. Did you mean `zoom`?",)),
        ({"zoom": " , "}, {}, ("[keys] zoom: no key is given.",)),
        ({"jump": "ctrl+n"}, {"jump": "ctrl+n"}, ("[keys] ^n is both jump and new_server.",)),
        ({"submit": "ctrl+j,f7"}, {"submit": "ctrl+j,f7"}, ()),
        ({"pane-call": "f4", "field-menu": "ctrl+l"}, {"pane_call": "f4", "field_menu": "ctrl+l"}, ()),
        ({"resend_many": "f7", "change_theme": "f7"}, {"resend_many": "f7", "change_theme": "f7"},
         ("[keys] F7 is both change_theme and resend_many.",)),
    ],
)  # fmt: skip
def test_what_a_person_may_change(settings: dict[str, str], usable: dict[str, str], problems: tuple[str, ...]) -> None:
    assert remap(settings) == (usable, problems)


def test_the_table_shows_changed_keys() -> None:
    rows = {(scope, id): keys for scope, id, keys, _ in table({"zoom": "ctrl+t"})}
    assert rows["main", "zoom"] == "^t"
    assert rows["main", "jump"] == "^o"


def test_the_table_can_be_printed_without_textual() -> None:
    code = "import sys, mcp_studio.tui.actions as a; a.table(); print('textual' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout.strip() == "False"


def test_textual_binds_no_key_of_its_own_against_the_table() -> None:
    """What Textual's app binds (^c, ^p) is either ours or harmless."""
    inherited = {binding.key for binding in App.BINDINGS if isinstance(binding, Binding)}
    assert inherited <= {"ctrl+q", "ctrl+c"}
