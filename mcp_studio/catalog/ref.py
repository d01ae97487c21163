"""Names for what servers offer."""

from __future__ import annotations

from typing import Literal, NamedTuple

EntryKind = Literal["tool", "resource", "template", "prompt"]
KINDS: tuple[EntryKind, ...] = ("tool", "resource", "template", "prompt")


class Ref(NamedTuple):
    """Names one tool, resource, template or prompt of one server.

    `name` is the tool's or prompt's name, the resource's URI, the template's URI template.
    """

    kind: EntryKind
    server: str
    name: str

    def __str__(self) -> str:
        return f"{self.server}.{self.name}"

    @property
    def flat(self) -> str:
        """The form used by model APIs: `mcp__server__tool`."""
        return f"mcp__{self.server}__{self.name}"
