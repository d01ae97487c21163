"""The text of a JSON string as rows, decoded a piece at a time: a copy of the whole is never made."""

from __future__ import annotations

from mcp_studio.tui.views.json_text import decode, unit_end
from mcp_studio.tui.views.wrapped import WrappedText, make_safe

_PIECE = 1 << 16
_BACK = 4_000
"""Bytes in front of the end of a piece in which the end of a line is looked for."""
_BACKSLASH = 0x5C


class StringRows(WrappedText):
    """As `WrappedText`, of the string whose inside is `data[begin:end]`; offsets are those of its JSON text."""

    def _is_plain(self, start: int, end: int) -> bool:
        return False

    def _decode(self, start: int, end: int) -> str:
        return make_safe(decode(self.data[start : self._unit(start, end)]))

    def _unit(self, start: int, end: int) -> int:
        return end if end >= self._limit else unit_end(self.data, start, end)

    def _chunk_end(self, start: int) -> int:
        end = start + _PIECE
        if end >= self._limit:
            return self._limit
        at = end
        for _ in range(8):
            at = self.data.rfind(b"\\n", max(start, end - _BACK), at)
            if at < 0:
                break
            if self._is_escape(start, at):
                return at + 2
        space = self.data.rfind(b" ", max(start + 1, end - self.width // 2), end)
        return unit_end(self.data, start, space + 1 if space > 0 else end)

    def _is_escape(self, start: int, at: int) -> bool:
        """Whether the backslash here is no part of an escaped one."""
        before = at
        while before > start and self.data[before - 1] == _BACKSLASH:
            before -= 1
        return (at - before) % 2 == 0
