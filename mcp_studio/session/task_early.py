"""Notices of tasks that overtake the answer which makes their task known."""

from __future__ import annotations

from collections import OrderedDict

from mcp_studio.jsontext import Json

_MOST = 50
_ID = 1_000
_MEMBERS = 12
_TEXT = 1_000


class Early:
    """The newest notice of each of a few unknown tasks. Large ones are not kept: the task is asked for instead."""

    def __init__(self) -> None:
        self._heard: OrderedDict[tuple[str, str], dict[str, Json] | None] = OrderedDict()

    def hear(self, server: str, identity: str, params: dict[str, Json]) -> None:
        """A server tells of a task that nobody knows."""
        self._heard[server, identity[:_ID]] = params if _small(params) else None
        while len(self._heard) > _MOST:
            self._heard.popitem(last=False)

    def take(self, key: tuple[str, str]) -> tuple[bool, dict[str, Json] | None]:
        """Whether anything was told of a task that is known now, and what, where it was kept."""
        return key in self._heard, self._heard.pop(key, None)


def _small(params: dict[str, Json]) -> bool:
    """Whether a notice holds nothing but a few short texts and numbers."""
    if len(params) > _MEMBERS:
        return False
    return all(
        len(value) < _TEXT if isinstance(value, str) else not isinstance(value, (dict, list))
        for value in params.values()
    )
