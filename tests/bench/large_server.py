"""A server whose tools answer with so many bytes: `text` (one line), `lines`, `json` (in a text), `structured`."""

from __future__ import annotations

import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "servers"))
from raw_server import RawServer, tool

SIZE = int(sys.argv[1])
NOTE = "what somebody wrote of it, in a line of usual length"
ROW = {"id": 0, "name": "row", "tags": ["alpha", "beta"], "score": 12.5, "nested": {"ok": True, "note": NOTE}}
LINE = "some words in a line that is of usual length, more or less\n"
LAST = "the needle at the end"


def rows() -> list[dict[str, object]]:
    """Rows of about the size."""
    return [ROW | {"id": number} for number in range(SIZE // (len(json.dumps(ROW)) + 4))]


KINDS = {
    "text": lambda: {"content": [{"type": "text", "text": f"{NOTE}, " * (SIZE // len(NOTE)) + LAST}]},
    "lines": lambda: {"content": [{"type": "text", "text": LINE * (SIZE // len(LINE)) + LAST}]},
    "json": lambda: {"content": [{"type": "text", "text": json.dumps([*rows(), LAST])}]},
    "structured": lambda: {"content": [], "structuredContent": {"rows": rows(), "last": LAST}},
}


class Large(RawServer):
    """The good server with tools that answer much."""

    def __init__(self) -> None:
        super().__init__(False)
        self.tools = [*self.tools, *(tool(name, "Much.") for name in KINDS)]

    def call(self, request, params):  # type: ignore[no-untyped-def]
        """Answer much."""
        kind = KINDS.get(params["name"])
        return kind() if kind else super().call(request, params)


if __name__ == "__main__":
    Large().run()
