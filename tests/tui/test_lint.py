"""House rules of the screens, read from their source: foreign text, colours, where imports and studio calls stand."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

from tests.support import ROOT

TUI = ROOT / "mcp_studio" / "tui"
TEXT_WIDGETS = {"Static", "Label", "Button", "Checkbox", "RadioButton", "Collapsible", "TabPane", "Option", "Tree"}
"""Take markup where they are given a plain string."""
TEXT_METHODS = {"update", "add_option", "set_title"}


@cache
def files() -> tuple[tuple[Path, list[ast.AST]], ...]:
    """Each file with all of its syntax tree."""
    found = sorted(TUI.rglob("*.py"))
    return tuple((file.relative_to(ROOT), list(ast.walk(ast.parse(file.read_text("utf-8"))))) for file in found)


def built(node: ast.expr) -> bool:
    """Text that is put together from parts, so that a part may be foreign."""
    if isinstance(node, ast.JoinedStr):
        return any(isinstance(part, ast.FormattedValue) for part in node.values)
    if isinstance(node, ast.BinOp):
        return built(node.left) or built(node.right)
    return isinstance(node, ast.Call) and getattr(node.func, "id", "") in {"safe", "str"}


def test_widgets_that_parse_markup_are_given_content_and_never_built_strings() -> None:
    wrong: list[str] = []
    for file, nodes in files():
        for node in nodes:
            if not isinstance(node, ast.Call) or not node.args:
                continue
            name = getattr(node.func, "id", getattr(node.func, "attr", ""))
            if name in TEXT_WIDGETS | TEXT_METHODS and built(node.args[0]):
                if "_markdown" not in ast.unparse(node.func):  # it renders Markdown and knows no markup
                    wrong.append(f"{file}:{node.lineno} {name}")
    assert wrong == []


def test_titles_in_borders_are_content() -> None:
    wrong: list[str] = []
    for file, nodes in files():
        for node in nodes:
            if isinstance(node, ast.Assign) and built(node.value):
                names = {target.attr for target in node.targets if isinstance(target, ast.Attribute)}
                if names & {"border_title", "border_subtitle", "tooltip"}:
                    wrong.append(f"{file}:{node.lineno}")
    assert wrong == []


def test_messages_to_the_person_are_never_markup() -> None:
    wrong: list[str] = []
    for file, nodes in files():
        for node in nodes:
            if isinstance(node, ast.Call) and getattr(node.func, "attr", "") == "notify":
                markup = [keyword for keyword in node.keywords if keyword.arg == "markup"]
                if not markup or ast.unparse(markup[0].value) != "False":
                    wrong.append(f"{file}:{node.lineno}")
    assert wrong == []


def test_colours_come_from_the_theme() -> None:
    colour = re.compile(r"#[0-9a-fA-F]{3,8}\b|\brgba?\(")
    sheets = [file.read_text("utf-8") for file in TUI.rglob("*.tcss")]
    for _, nodes in files():
        for node in nodes:
            if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "DEFAULT_CSS":
                sheets.append(ast.literal_eval(node.value))
    assert len(sheets) > 5
    assert [found for sheet in sheets for found in colour.findall(sheet)] == []


def test_only_the_bridge_listens_to_the_stores() -> None:
    listening = {
        str(file)
        for file, nodes in files()
        for node in nodes
        if isinstance(node, ast.Attribute) and node.attr == "connect" and ast.unparse(node).endswith(".changed.connect")
    }
    # Calls and sign-ins are no stores: whoever began one listens to it, and whoever shows it. The index is one, but it
    # is there only once somebody searches, and heard only for as long.
    own = {f"mcp_studio/tui/screens/{name}.py" for name in ("calling", "signing", "sign_in_view", "search_asking")}
    assert listening == {"mcp_studio/tui/bridge.py", *own}


def test_panels_and_views_know_no_studio() -> None:
    knowing = [
        str(file)
        for file, nodes in files()
        if file.parts[2] in ("panels", "views", "form")
        for node in nodes
        if isinstance(node, (ast.Import, ast.ImportFrom)) and "mcp_studio.studio" in ast.unparse(node)
    ]
    assert knowing == []
