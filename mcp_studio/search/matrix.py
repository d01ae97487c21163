"""Vectors in memory, a byte for each number, and how near they are to another one."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from mcp_studio.search.model import SIZE, Vector

Packed = NDArray[np.int8]
_BLOCK = 512
"""Rows that are made floats at a time: they stay in the processor's cache."""


def packed(vector: Vector) -> tuple[Packed, float]:
    """A vector as bytes, and what they are to be multiplied with. The error of a product is below 0.003."""
    scale = max(float(np.abs(vector).max()), 1e-9) / 127
    return np.rint(vector / scale).astype(np.int8), scale


class Matrix:
    """Rows of vectors by number; a row that was not set, or was cleared, is as far from everything as can be."""

    def __init__(self) -> None:
        self._rows: Packed = np.zeros((0, SIZE), np.int8)
        self._scales = np.zeros(0, np.float32)
        self.known: NDArray[np.bool_] = np.zeros(0, np.bool_)
        """For each row whether there is a vector."""

    def grow(self, size: int) -> None:
        """Have room for rows below `size`."""
        have = len(self._scales)
        if size > have:
            more = max(size, have + have // 4 + 64) - have
            self._rows = np.concatenate((self._rows, np.zeros((more, SIZE), np.int8)))
            self._scales = np.concatenate((self._scales, np.zeros(more, np.float32)))
            self.known = np.concatenate((self.known, np.zeros(more, np.bool_)))

    def put(self, row: int, vector: Packed, scale: float) -> None:
        """Set a row."""
        self._rows[row], self._scales[row], self.known[row] = vector, scale, True

    def clear(self, row: int) -> None:
        """Forget a row."""
        self._scales[row], self.known[row] = 0, False

    def near(self, vectors: NDArray[np.float32], size: int) -> NDArray[np.float32]:
        """The cosine of each of some vectors with each of the first `size` rows; 0 for those that are not known."""
        out = np.empty((len(vectors), size), np.float32)
        room = np.empty((_BLOCK, SIZE), np.float32)
        for start in range(0, size, _BLOCK):
            end = min(start + _BLOCK, size)
            floats = room[: end - start]
            np.copyto(floats, self._rows[start:end])
            for place, vector in enumerate(vectors):  # all at once is slower, by far so beside busy processors
                np.dot(floats, vector, out=out[place, start:end])
        out *= self._scales[:size]
        return out
