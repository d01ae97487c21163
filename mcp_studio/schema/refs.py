"""What a reference names inside one schema document: pointers, anchors, embedded `$id`s. Nothing is ever fetched."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, cast
from urllib.parse import unquote, urldefrag, urljoin

from mcp_studio.jsontext import Json
from mcp_studio.schema.place import NoPlace, get, path_of

_NODES = 50_000
"""Sub-schemas that are looked through for names."""
_LONGEST = 2_000
MISSING: Any = object()
"""What a reference names that names nothing here."""
VARIES: Any = object()
"""What a dynamic reference names that names one thing or another, by the way that leads to it."""
_DATA = frozenset(("const", "enum", "default", "examples", "example", "required", "type"))
_MAPS = frozenset(
    ("properties", "$defs", "definitions", "patternProperties", "dependentSchemas", "dependencies", "dependentRequired")
)


class Document:
    """One schema and the names in it; they are collected with the first reference."""

    def __init__(self, root: Json) -> None:
        self._root = root
        self._names: _Names | None = None

    def target(self, reference: str, holder: Json) -> Json:
        """What a reference in the schema `holder` names; `MISSING` where that is nothing in this document."""
        if len(reference) > _LONGEST:
            return MISSING
        names = self._known()
        url, fragment = urldefrag(_joined(names.base(holder), reference))
        resource = names.resources.get(url, MISSING)
        if not fragment or resource is MISSING:
            return resource
        fragment = unquote(fragment)
        return _walked(resource, fragment) if fragment.startswith("/") else names.anchors.get((url, fragment), MISSING)

    def dynamic(self, reference: str, holder: Json) -> Json:
        """What a `$dynamicRef` names: the outermost of the anchors of that name, in the order they are reached."""
        start = self.target(reference, holder)
        name = reference.rpartition("#")[2]
        names = self._known()
        if not isinstance(start, dict) or cast("dict[str, Json]", start).get("$dynamicAnchor") != name:
            return start
        found = [target for (_, known), target in names.dynamic.items() if known == name]
        if len(found) < 2:
            return start
        if (root := names.base(self._root), name) in names.dynamic:
            return names.dynamic[root, name]
        if len(found) > 2:
            return VARIES
        return next((names.dynamic[url, name] for url in self._reached(names) if (url, name) in names.dynamic), start)

    def _known(self) -> _Names:
        if self._names is None:
            self._names = _Names(self._root)
        return self._names

    def _reached(self, names: _Names) -> Iterator[str]:
        """The bases of the schemas in the order in which one comes into them from the top."""
        todo: list[Json] = [self._root]
        seen: set[int] = set()
        while todo and len(seen) < _NODES:
            node = todo.pop(0)
            if not isinstance(node, dict) or id(cast("object", node)) in seen:
                continue
            seen.add(id(cast("object", node)))
            yield names.base(node)
            schema = cast("dict[str, Json]", node)
            for key in ("$ref", "$dynamicRef"):
                if isinstance(reference := schema.get(key), str):
                    todo.append(self.target(reference, schema))
            todo += [inner for _, inner in _inside(schema, definitions=False)]


class _Names:
    """The bases, resources and anchors of a document."""

    def __init__(self, root: Json) -> None:
        self.resources: dict[str, Json] = {"": root}
        self.anchors: dict[tuple[str, str], Json] = {}
        self.dynamic: dict[tuple[str, str], Json] = {}
        self._bases: dict[int, str] = {}
        self._root_base = ""
        todo: list[tuple[Json, str]] = [(root, "")]
        seen = 0
        while todo and seen < _NODES:
            node, base = todo.pop()
            seen += 1
            if isinstance(node, dict):
                schema = cast("dict[str, Json]", node)
                base = self._enter(schema, base)
                todo += [(inner, base) for _, inner in _inside(schema)]

    def base(self, holder: Json) -> str:
        """The base of references in a schema."""
        return self._bases.get(id(holder), self._root_base)

    def _enter(self, schema: dict[str, Json], base: str) -> str:
        name = schema.get("$id", schema.get("id"))
        if isinstance(name, str) and len(name) < _LONGEST and ("$id" in schema or "#" in name or "/" in name):
            url, fragment = urldefrag(_joined(base, name))
            if fragment:  # until draft 7
                self.anchors.setdefault((base, fragment), schema)
            else:
                base = url
                self.resources.setdefault(base, schema)
                if not self._bases:
                    self._root_base = base
        self._bases[id(schema)] = base
        for key in ("$anchor", "$dynamicAnchor"):
            if isinstance(anchor := schema.get(key), str):
                self.anchors.setdefault((base, anchor), schema)
                if key == "$dynamicAnchor":
                    self.dynamic.setdefault((base, anchor), schema)
        return base


def _inside(schema: dict[str, Json], *, definitions: bool = True) -> Iterator[tuple[str, Json]]:
    """The sub-schemas of a schema."""
    for key, inner in schema.items():
        if key in _DATA or (not definitions and key in ("$defs", "definitions")):
            continue
        if isinstance(inner, dict) and key in _MAPS:
            yield from cast("dict[str, Json]", inner).items()
        elif isinstance(inner, dict):
            yield key, inner
        elif isinstance(inner, list):
            yield from ((key, item) for item in cast("list[Json]", inner))


def _joined(base: str, reference: str) -> str:
    try:
        return urljoin(base, reference) if base else reference
    except ValueError:
        return reference


def _walked(place: Json, path: str) -> Json:
    try:
        return get(place, path_of(path, place))
    except NoPlace:
        return MISSING
