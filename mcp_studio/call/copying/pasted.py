"""What a pasted text says of a call, whatever it was written in."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Literal

from mcp_studio.catalog.ref import EntryKind, Ref
from mcp_studio.jsontext import Json
from mcp_studio.record import record
from mcp_studio.schema.field import Form
from mcp_studio.schema.pairs import set_pair

Meant = Literal["tool", "prompt", "resource", ""]
"""What is called; empty where the text does not say."""


class PasteProblem(ValueError):
    """A text that says nothing of a call: a sentence, and the line that it is about (from 1; 0 for none)."""

    def __init__(self, message: str, line: int = 0) -> None:
        super().__init__(message)
        self.line = line


@record(frozen=True)
class Pasted:
    """A call, or only its arguments."""

    form: str
    """What the text is, in words: `JSON`, `JSON-RPC request`, `mcp-studio command line` …"""
    arguments: Mapping[str, Json] = field(default_factory=dict[str, Json])
    kind: Meant = ""
    name: str = ""
    """The tool or prompt, or the URI of a resource; empty where it is not said."""
    server: str = ""
    """The server's name where it is said."""
    url: str = ""
    """The server's address where it is said."""
    pairs: tuple[str, ...] = ()
    """`key=value` words, whose values only a form can type."""
    remarks: tuple[str, ...] = ()
    """What of the text was not taken, in sentences."""

    @property
    def count(self) -> int:
        """How many arguments there are."""
        return len({*self.arguments, *(pair.partition("=")[0].removesuffix(":") for pair in self.pairs)})

    def value(self, form: Form) -> dict[str, Json]:
        """The arguments, those that are words typed by the fields of a form.

        Raises:
            PasteProblem: one of them has no meaning there.
        """
        made = dict(self.arguments)
        for pair in self.pairs:
            try:
                made = set_pair(form, made, pair)
            except ValueError as problem:
                said = str(problem)
                # Else it begins with the name of the argument.
                said = f"T{said[1:]}" if said.startswith("there is ") else said
                raise PasteProblem(f"{said}.".replace("?.", "?")) from None
        return made

    def names(self, ref: Ref) -> bool:
        """Whether it can be about this entry: it says nothing else."""
        kinds: dict[EntryKind, Meant] = {
            "tool": "tool", "prompt": "prompt", "resource": "resource", "template": "resource",
        }  # fmt: skip
        same = self.name in ("", ref.name) and self.kind in ("", kinds[ref.kind])
        return same and self.server in ("", ref.server)

    def says(self) -> str:
        """What it is, in a sentence without a full stop."""
        what = {"tool": "a call of", "prompt": "prompt", "resource": "reading", "": "for"}[self.kind]
        about = f": {what} {self.name}" if self.name else ""
        if self.kind == "resource" and not self.count:
            return f"{self.form}{about}"
        count = "no arguments" if not self.count else "1 argument" if self.count == 1 else f"{self.count} arguments"
        return f"{self.form}{about}{', ' if about else ': '}{count}"
