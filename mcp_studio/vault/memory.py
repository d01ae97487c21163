"""Secrets that are kept until the process ends, and nowhere else."""

from __future__ import annotations

from mcp_studio.config.model import Keeping


class MemoryVault:
    """A vault without a place."""

    kind: Keeping = "memory"
    place = "memory, until the studio ends"

    def __init__(self) -> None:
        self._kept: dict[str, str] = {}

    def get(self, name: str) -> str | None:
        """The secret, or None where there is none of that name."""
        return self._kept.get(name)

    def set(self, name: str, value: str) -> None:
        """Keep a secret in place of what had that name."""
        self._kept[name] = value

    def delete(self, name: str) -> bool:
        """Forget a secret; False where there was none."""
        return self._kept.pop(name, None) is not None
