"""Thin views over what servers list: raw JSON beneath, properties named as in the specification on top.

A view never raises: a value of the wrong type reads as absent. All text is foreign and unsanitized.
"""

from __future__ import annotations

from typing import cast

from mcp_studio.jsontext import Json, mapping


def _text(raw: dict[str, Json], key: str) -> str:
    value = raw.get(key)
    return value if isinstance(value, str) else ""


class View:
    """What all listed things have in common (specification, basic: BaseMetadata)."""

    __slots__ = ("raw",)

    def __init__(self, raw: dict[str, Json]) -> None:
        self.raw = raw

    @property
    def name(self) -> str:
        """The programmatic name."""
        return _text(self.raw, "name")

    @property
    def title(self) -> str:
        """The name meant for people, or an empty string."""
        return _text(self.raw, "title")

    @property
    def description(self) -> str:
        """What it is, or an empty string."""
        return _text(self.raw, "description")


class ToolView(View):
    """A tool (specification, server/tools). The four hints are claims of the server."""

    __slots__ = ()

    @property
    def title(self) -> str:
        """The title, which older servers put among the annotations."""
        return _text(self.raw, "title") or _text(self.annotations, "title")

    @property
    def input_schema(self) -> Json:
        """The schema of the arguments, whatever it is."""
        return self.raw.get("inputSchema")

    @property
    def output_schema(self) -> Json:
        """The schema of `structuredContent`, or None."""
        return self.raw.get("outputSchema")

    @property
    def annotations(self) -> dict[str, Json]:
        """The annotations object."""
        return mapping(self.raw.get("annotations"))

    @property
    def read_only(self) -> bool:
        """`readOnlyHint`, false by default."""
        return self.annotations.get("readOnlyHint") is True

    @property
    def destructive(self) -> bool:
        """Whether it may destroy: `destructiveHint`, which counts only where the tool says that it writes.

        The specification's default is true; a tool that says nothing at all is taken for one that writes, and
        only one that says so is marked destructive, or every tool without annotations would be.
        """
        return not self.read_only and self.annotations.get("destructiveHint") is True

    @property
    def idempotent(self) -> bool:
        """`idempotentHint`, false by default."""
        return self.annotations.get("idempotentHint") is True

    @property
    def open_world(self) -> bool:
        """`openWorldHint`, true by default."""
        return self.annotations.get("openWorldHint") is not False

    @property
    def risk(self) -> str:
        """One of `read`, `write`, `destructive`."""
        return "read" if self.read_only else "destructive" if self.destructive else "write"


class ResourceView(View):
    """A resource (specification, server/resources)."""

    __slots__ = ()

    @property
    def uri(self) -> str:
        """Its address."""
        return _text(self.raw, "uri")

    @property
    def mime_type(self) -> str:
        """Its media type, or an empty string."""
        return _text(self.raw, "mimeType")

    @property
    def size(self) -> int | None:
        """Its size in bytes, where the server says one that a file can have."""
        value = self.raw.get("size")
        return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 1 << 63 else None


class TemplateView(View):
    """A resource template (specification, server/resources)."""

    __slots__ = ()

    @property
    def uri_template(self) -> str:
        """Its RFC 6570 template."""
        return _text(self.raw, "uriTemplate")

    @property
    def mime_type(self) -> str:
        """The media type of all that match, or an empty string."""
        return _text(self.raw, "mimeType")


class PromptView(View):
    """A prompt (specification, server/prompts)."""

    __slots__ = ()

    @property
    def arguments(self) -> tuple[dict[str, Json], ...]:
        """Its arguments as raw objects with `name`, `description`, `required`."""
        found = self.raw.get("arguments")
        return tuple(mapping(item) for item in cast("list[Json]", found)) if isinstance(found, list) else ()


AnyView = ToolView | ResourceView | TemplateView | PromptView
