"""What was answered to a server's questions, given again when it asks again."""

from __future__ import annotations

from typing import NamedTuple

from mcp_studio.jsontext import Json, mapping
from mcp_studio.session.answering import Refusal


class Given(NamedTuple):
    """One question of a server, and what it was answered."""

    method: str
    params: dict[str, Json]
    result: Json = None
    error: Json = None
    """The error object that it was refused with."""
    secret: bool = False
    """The trace does not have all of the answer: it cannot be given again."""


class Script:
    """The answers of one conversation, each given once."""

    def __init__(self, given: tuple[Given, ...]) -> None:
        self._left = list(given)

    def answer(self, method: str, params: dict[str, Json]) -> Json | Refusal | None:
        """What the same question was answered, else the next question of this kind; None: somebody has to be asked."""
        wanted = _words(params)
        same = [one for one in self._left if one.method == method]
        chosen = next((one for one in same if _words(one.params) == wanted), same[0] if same else None)
        if chosen is None:
            return None
        self._left.remove(chosen)
        if chosen.secret:
            return None
        if chosen.error is not None:
            error = mapping(chosen.error)
            code = error.get("code")
            return Refusal(code if isinstance(code, int) else 0, str(error.get("message", "")), declined=True)
        return chosen.result


def _words(params: dict[str, Json]) -> dict[str, Json]:
    return {key: value for key, value in params.items() if key != "_meta"}
