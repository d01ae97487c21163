"""Where the eye and the cursor are: filters, footers, tabs, and lines that have to fit."""

from __future__ import annotations

import pytest
from mcp_studio.tui.panels.status import Facts, StatusLine
from textual.content import Content
from textual.geometry import Size

from mcp_studio.schema.form import build
from mcp_studio.tui.form.model import FormModel
from mcp_studio.tui.form.painter import Painter


@pytest.mark.parametrize("width", [80, 60, 40])
def test_the_status_line_is_cut_between_its_parts(width: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(StatusLine, "size", property(lambda self: Size(width, 1)))
    line = StatusLine()
    line.facts = Facts(12, 12, 12_345, 3, 1_234.0, 56_789.0, "2 problems in the configuration (F12)")
    shown: Content = line.render()
    assert shown.cell_length <= width
    assert "12/12 servers" in shown.plain and "3 waiting" in shown.plain
    assert ("12,345 tools" in shown.plain) is (width > 50)
    assert "p50" not in shown.plain or "p95 56.8s" in shown.plain


def test_a_hint_stands_once() -> None:
    same = {"type": "string", "minLength": 2, "maxLength": 40, "description": "2 to 40 characters"}
    form = build({"properties": {"name": same, "sort": {"enum": ["a", "b"]}}, "required": ["name"]})
    for value in ({"sort": "a"}, {"name": "Ada", "sort": "a"}):
        model = FormModel(form, value)
        painter = Painter(model, 80)
        drawn = [
            painter.draw(index, row, current=True, focused=True, picker=None, editor=0, offers=None)
            for index, row in enumerate(model.rows)
        ]
        text = "\n".join("".join(piece for piece, _ in line) for one in drawn for line in one.lines)
        assert text.count("2 to 40 characters") == 1
        assert "one of 2" not in text
