"""Thin views on what servers list: raw JSON beneath, properties named as in the specification on top.

A view never raises: a value of the wrong type reads as absent. All text is foreign and unsanitized.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple, cast

from mcp_studio.jsontext import Json, items_of, mapping


def text_of(known: Mapping[str, Json], key: str, most: int | None = None) -> str:
    """The member of an object if it is text, cut at `most` characters; else empty."""
    value = known.get(key)
    return value[:most] if isinstance(value, str) else ""


class View:
    """The members that everything listed has (specification, basic: BaseMetadata)."""

    __slots__ = ("raw",)

    def __init__(self, raw: dict[str, Json]) -> None:
        self.raw = raw

    @property
    def name(self) -> str:
        return text_of(self.raw, "name")

    @property
    def title(self) -> str:
        """The name meant for people, or an empty string."""
        return text_of(self.raw, "title")

    @property
    def description(self) -> str:
        return text_of(self.raw, "description")


class ToolView(View):
    """A tool (specification, server/tools). The four hints are claims of the server."""

    __slots__ = ()

    @property
    def title(self) -> str:
        """The title, which older servers put into the annotations."""
        return text_of(self.raw, "title") or text_of(self.annotations, "title")

    @property
    def input_schema(self) -> Json:
        """The schema of the arguments, valid or not."""
        return self.raw.get("inputSchema")

    @property
    def output_schema(self) -> Json:
        """The schema of `structuredContent`, or None."""
        return self.raw.get("outputSchema")

    @property
    def annotations(self) -> dict[str, Json]:
        return mapping(self.raw.get("annotations"))

    @property
    def read_only(self) -> bool:
        """`readOnlyHint`, false by default."""
        return self.annotations.get("readOnlyHint") is True

    @property
    def destructive(self) -> bool:
        """Whether the tool may destroy data: `destructiveHint`, unless the tool claims to be read-only."""
        hints = self.annotations
        return hints.get("readOnlyHint") is not True and hints.get("destructiveHint") is True

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
        return text_of(self.raw, "uri")

    @property
    def mime_type(self) -> str:
        """The media type, or an empty string."""
        return text_of(self.raw, "mimeType")

    @property
    def size(self) -> int | None:
        """The size in bytes; None where the server states none that a file can have."""
        value = self.raw.get("size")
        return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 1 << 63 else None


class TemplateView(View):
    """A resource template (specification, server/resources)."""

    __slots__ = ()

    @property
    def uri_template(self) -> str:
        """The RFC 6570 template."""
        return text_of(self.raw, "uriTemplate")

    @property
    def mime_type(self) -> str:
        """The media type of all matching resources, or an empty string."""
        return text_of(self.raw, "mimeType")


class PromptView(View):
    """A prompt (specification, server/prompts)."""

    __slots__ = ()

    @property
    def arguments(self) -> tuple[dict[str, Json], ...]:
        """The arguments as raw objects with `name`, `description`, `required`."""
        return tuple(map(mapping, items_of(self.raw.get("arguments"))))


AnyView = ToolView | ResourceView | TemplateView | PromptView

_KEY = "x-mcp-header"
_TOKEN = r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+"
_PLAIN = r"[\x20-\x7e]*"
_SENTINEL = r"=\?base64\?.*\?="
_SINGLE = (
    "items contains additionalProperties propertyNames unevaluatedItems unevaluatedProperties not if then else "
    "contentSchema"
).split()
_MANY = ("allOf", "anyOf", "oneOf", "prefixItems")
_NAMED = ("patternProperties", "dependentSchemas", "$defs", "definitions")
_NODES = 20_000
"""The most sub-schemas that are searched."""

Path = tuple[str, ...]


def encode_value(value: str) -> str:
    """A header value: plain where HTTP keeps it unchanged, otherwise in the base64 form of the specification."""
    if re.fullmatch(_PLAIN, value) and value == value.strip() and not re.fullmatch(_SENTINEL, value):
        return value
    return f"=?base64?{base64.b64encode(value.encode('utf-8', 'surrogatepass')).decode()}?="


def header_problem(schema: Json) -> str:
    """Why a tool must not be used: header annotations in its input schema are invalid; empty if all are valid."""
    seen: set[str] = set()
    for path, node in _annotated(schema):
        name = node[_KEY]
        where = ".".join(path) if path else "the schema"
        if not path:
            return f"{_KEY} stands where no argument can be found by name"
        if not isinstance(name, str) or not re.fullmatch(_TOKEN, name):
            return f"the {_KEY} of {where} is not a header name"
        if node.get("type") not in ("string", "integer", "boolean"):
            return f"{_KEY} is allowed on strings, integers and booleans only, not on {where}"
        if name.lower() in seen:
            return f"two arguments want the header {name}"
        seen.add(name.lower())
    return ""


def mirrored(schema: Json) -> tuple[tuple[str, Path], ...]:
    """The headers that a tool asks for, in order, each with the property names that lead to its argument."""
    found = [(f"Mcp-Param-{node[_KEY]}", path) for path, node in _annotated(schema) if path]
    return tuple(reversed(found))


def param_headers(schema: Json, arguments: dict[str, Json]) -> tuple[tuple[str, str], ...]:
    """The `Mcp-Param-*` headers of one call, for the annotated arguments that are present."""
    found: list[tuple[str, str]] = []
    for path, node in _annotated(schema):
        name = node[_KEY]
        value: Json = arguments
        for step in path or ():
            value = mapping(value).get(step)
        if path and isinstance(name, str) and isinstance(value, (str, int, float)):
            text = str(value).lower() if isinstance(value, bool) else str(value)
            found.append((f"Mcp-Param-{name}", encode_value(text)))
    return tuple(found)


def _annotated(schema: Json) -> Iterator[tuple[Path | None, dict[str, Json]]]:
    """Annotated sub-schemas with the property names that lead there, or None off such a path; never follows `$ref`."""
    todo: list[tuple[Path | None, Json]] = [((), schema)]
    for _ in range(_NODES):
        if not todo:
            return
        path, node = todo.pop()
        if not isinstance(node, dict):
            continue
        known = cast("dict[str, Json]", node)
        if _KEY in known:
            yield path or None, known
        todo += _children(path, known)


def _children(path: Path | None, node: dict[str, Json]) -> list[tuple[Path | None, Json]]:
    found: list[tuple[Path | None, Json]] = []
    for name, child in mapping(node.get("properties")).items():
        found.append(((*path, name) if path is not None else None, child))
    found += [(None, node[key]) for key in _SINGLE if key in node]
    found += [(None, item) for key in _MANY for item in items_of(node.get(key))]
    return found + [(None, item) for key in _NAMED for item in mapping(node.get(key)).values()]


_NONE = "'none'"
_MOST = 50
_ORIGIN = r"(?:https?|wss?)://(?:\*\.)?[A-Za-z0-9.-]+(?::[0-9]{1,5}|:\*)?\Z"
"""A text, not a compiled pattern: it is compiled for the first page, not at every start."""


class Reach(NamedTuple):
    """The origins and permissions that a page declares."""

    connect: tuple[str, ...] = ()
    """Origins that the page connects to."""
    resources: tuple[str, ...] = ()
    """Origins that scripts, styles, images and fonts come from."""
    frames: tuple[str, ...] = ()
    permissions: tuple[str, ...] = ()
    """Camera, microphone and the like."""
    refused: tuple[str, ...] = ()
    """Declared values that are not origins: they are left out, so that nothing can be smuggled into the policy."""


def app_of(tool: dict[str, Json]) -> str:
    """The `ui://` address of a tool's page, or an empty string; the older flat key counts too."""
    meta = mapping(tool.get("_meta"))
    address = mapping(meta.get("ui")).get("resourceUri") or meta.get("ui/resourceUri")
    return address if isinstance(address, str) and address.startswith("ui://") else ""


def is_app(contents: dict[str, Json]) -> bool:
    """Whether an item of a `resources/read` result is the page of an app."""
    uri, mime = contents.get("uri"), contents.get("mimeType")
    kind = mime.replace(" ", "").lower() if isinstance(mime, str) else ""
    return isinstance(uri, str) and uri.startswith("ui://") and kind.startswith("text/html")


def reach_of(contents: dict[str, Json]) -> Reach:
    """Read which origins and permissions the page of an app declares."""
    ui = mapping(mapping(contents.get("_meta")).get("ui"))
    csp = mapping(ui.get("csp"))
    declared = {key: _words(csp.get(key)) for key in ("connectDomains", "resourceDomains", "frameDomains")}
    good = {key: tuple(word for word in words if re.match(_ORIGIN, word)) for key, words in declared.items()}
    bad = tuple(word for words in declared.values() for word in words if not re.match(_ORIGIN, word))
    permissions = tuple(list(mapping(ui.get("permissions")))[:_MOST])
    return Reach(good["connectDomains"], good["resourceDomains"], good["frameDomains"], permissions, bad)


def policy(reach: Reach) -> str:
    """The Content-Security-Policy that limits a page to what it declared."""
    inline, data = ("'unsafe-inline'", *reach.resources), ("data:", *reach.resources)
    sources: dict[str, tuple[str, ...]] = {
        "default-src": (), "script-src": inline, "style-src": inline, "img-src": data, "font-src": data,
        "media-src": data, "connect-src": reach.connect, "frame-src": reach.frames, "base-uri": (), "form-action": (),
        "object-src": (),
    }  # fmt: skip
    return "; ".join(f"{name} {' '.join(allowed or (_NONE,))}" for name, allowed in sources.items())


def held_page(html: str, reach: Reach) -> str:
    """The page with its policy before all content, because browsers obey the first policy that they read."""
    return f'<!doctype html><meta http-equiv="Content-Security-Policy" content="{policy(reach)}">\n{html}'


def reach_lines(reach: Reach) -> list[str]:
    """A line for people on each kind of origin and permission of a page."""
    rows = (
        ("connects to", reach.connect), ("loads from", reach.resources), ("frames", reach.frames),
        ("asks for", reach.permissions), ("left out, no origin", reach.refused),
    )  # fmt: skip
    found = [f"{what}: {', '.join(words)}" for what, words in rows if words]
    return found or ["reaches nothing outside itself"]


def _words(value: Json) -> Iterable[str]:
    items = items_of(value)
    return [item for item in items[:_MOST] if isinstance(item, str)]
