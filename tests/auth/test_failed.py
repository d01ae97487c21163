"""How what a server sent stands in a sentence of ours."""

from __future__ import annotations

import pytest

from mcp_studio.auth.model import AuthFailed, said


@pytest.mark.parametrize(
    ("foreign", "message"),
    [
        ("The secret is wrong.", 'It refused: "The secret is wrong."'),
        ("Who are you?", 'It refused: "Who are you?"'),
        ("wrong", 'It refused: "wrong".'),
    ],
)
def test_a_quoted_sentence_has_one_full_stop(foreign: str, message: str) -> None:
    assert AuthFailed(f"It refused: {said(foreign)}.").message == message
