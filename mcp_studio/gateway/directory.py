"""The entries of the catalog that clients see, under which names, and with definitions that hide nothing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from fnmatch import fnmatchcase
from typing import Any, NamedTuple, cast
from urllib.parse import quote, unquote

from mcp_types import Prompt, Resource, ResourceTemplate, Tool
from pydantic import BaseModel, ValidationError

from mcp_studio.catalog.catalog import Catalog
from mcp_studio.catalog.listing import Entry, EntryKind, Ref
from mcp_studio.config.model import GatewaySettings
from mcp_studio.jsontext import Json
from mcp_studio.safetext import hidden_in, safe
from mcp_studio.schema.uritemplate import fits
from mcp_studio.toolset.toolset import usable_names

_SHOWN = 20_000
"""Characters of a title or description that clients get."""
_EXACT = frozenset(
    ("const", "enum", "pattern", "required", "dependentRequired", "$ref", "$id", "x-mcp-header", "name", "uri", "_meta")
)
"""Members of a definition whose every character matters."""
_DEPTH = 64
SCHEME = "mcp-studio://"
"""The scheme of addresses for resources that several servers have, or whose own address looks like ours."""
_SHAPES: dict[EntryKind, type[BaseModel]] = {
    "tool": Tool, "resource": Resource, "template": ResourceTemplate, "prompt": Prompt,
}  # fmt: skip


class Offer(NamedTuple):
    """An entry as clients see it."""

    name: str
    """The name, URI or URI template that clients use."""
    entry: Entry
    definition: dict[str, Any]

    @property
    def ref(self) -> Ref:
        return self.entry.ref


class Directory:
    """The entries that clients see, by kind and name; they are read again after a list has changed.

    Args:
        own: names of the gateway's own tools.
    """

    def __init__(self, catalog: Catalog, settings: GatewaySettings, own: Collection[str]) -> None:
        self._catalog = catalog
        self._settings = settings
        self._own = own
        self._offers: dict[EntryKind, dict[str, Offer]] = {}
        self._made: dict[EntryKind, dict[Ref, Offer]] = {}
        self._refs: dict[str, list[Offer]] = {}
        catalog.changed.connect(lambda changed: self._forget(changed[1]))

    def offers(self, kind: EntryKind) -> Mapping[str, Offer]:
        """All entries of a kind by name, in the order of the configuration."""
        if kind not in self._offers:
            made = list(self._made_of(kind))
            self._made[kind] = {offer.ref: offer for offer in made}
            self._offers[kind] = {offer.name: offer for offer in made}
        return self._offers[kind]

    def find(self, kind: EntryKind, name: str) -> Offer | None:
        """The entry with a name; for a tool also by `server.tool`, if only one tool has that name."""
        offers = self.offers(kind)
        if name in offers or kind != "tool":
            return offers.get(name)
        if not self._refs:
            for offer in offers.values():
                self._refs.setdefault(str(offer.ref), []).append(offer)
        found = self._refs.get(name, [])
        return found[0] if len(found) == 1 else None

    def resource(self, uri: str) -> Ref | None:
        """The resource at an address, listed or made from a template; None if no server or several servers have it."""
        if offer := self.offers("resource").get(uri):
            return offer.ref
        server, slash, rest = uri.removeprefix(SCHEME).partition("/")
        if uri.startswith(SCHEME) and slash:
            ref = Ref("resource", unquote(server), unquote(rest))
            return ref if ref.server in self._catalog.servers and self.shows(str(ref)) else None
        templates = self.offers("template").values()
        found = {offer.ref.server for offer in templates if fits(offer.ref.name, uri)}
        return Ref("resource", found.pop(), uri) if len(found) == 1 else None

    def address(self, server: str, uri: str) -> str:
        """The address under which clients know a resource, listed or not."""
        for offer in self.offers("resource").values():
            if offer.ref == ("resource", server, uri):
                return offer.name
        return uri if self.resource(uri) == ("resource", server, uri) else _address(server, uri)

    def _forget(self, kind: EntryKind) -> None:
        self._offers.pop(kind, None)
        self._refs = {}

    def shows(self, name: str) -> bool:
        """Whether the settings let clients see the entry with this name, such as `server.tool`."""
        return matches(name, self._settings.tools or ("*",)) and not matches(name, self._settings.hidden)

    def _made_of(self, kind: EntryKind) -> Iterable[Offer]:
        entries = {
            entry.ref: entry
            for entry in reversed(self._catalog.entries(kind))  # of several entries with the same name the first counts
            if not entry.excluded and self.shows(str(entry.ref))
        }
        refs = list(reversed(entries))
        named = _addresses(refs) if kind in ("resource", "template") else self._names(refs)
        for ref, name in named.items():
            if (offer := self._offer(name, entries[ref])) is not None:
                yield offer

    def _offer(self, name: str, entry: Entry) -> Offer | None:
        """The entry with its definition; None if the protocol cannot hold the entry, or if it hides characters."""
        made = self._made.get(entry.ref.kind, {}).get(entry.ref)
        if made is not None and made.name == name and made.entry.view.raw is entry.view.raw:
            return made
        key = {"resource": "uri", "template": "uriTemplate"}.get(entry.ref.kind, "name")
        raw = {name: item for name, item in entry.view.raw.items() if name not in ("execution", key)}
        if entry.ref.kind == "tool":  # any call can be a task of the gateway, whatever the tool's server supports
            raw["execution"] = {"taskSupport": "optional"}
        raw |= {"name": str(safe(raw["name"], _SHOWN))} if "name" in raw else {}
        try:
            definition = {**cast("dict[str, Any]", readable(raw)), key: name}
            _SHAPES[entry.ref.kind].model_validate(definition, by_name=False)
        except (ValidationError, ValueError):
            return None
        return Offer(name, entry, definition)

    def _names(self, refs: Iterable[Ref]) -> dict[Ref, str]:
        rename, prefix = self._settings.rename, self._settings.prefix
        wished = {ref: rename.get(str(ref)) or prefix.replace("{server}", ref.server) + ref.name for ref in refs}
        return usable_names(wished, self._own)


def matches(name: str, patterns: Iterable[str]) -> bool:
    """Whether a name matches one of the patterns."""
    return any(fnmatchcase(name, pattern) for pattern in patterns)


def readable(value: Json, depth: int = _DEPTH, *, exact: bool = False) -> Json:
    """A definition without invisible characters and without any that act on a terminal.

    Raises:
        ValueError: such a character is in a name, or in a value to send, which must not be changed.
    """
    if isinstance(value, str):
        if not exact:
            return str(safe(value, _SHOWN, lines=True))
        if hidden_in(value):
            raise ValueError("it has characters that nobody can see")
        return value
    if not isinstance(value, (dict, list)):
        return value
    if not depth:
        raise ValueError("it is nested too deeply")
    if isinstance(value, list):
        return [readable(item, depth - 1, exact=exact) for item in value]
    if any(map(hidden_in, value)):
        raise ValueError("it has characters that nobody can see")
    return {key: readable(item, depth - 1, exact=exact or key in _EXACT) for key, item in value.items()}


def _addresses(refs: Iterable[Ref]) -> dict[Ref, str]:
    counts = Counter(ref.name for ref in refs)
    plain = (ref for ref in refs if counts[ref.name] == 1 and not ref.name.lower().startswith(SCHEME))
    return {ref: _address(ref.server, ref.name) for ref in refs} | {ref: ref.name for ref in plain}


def _address(server: str, uri: str) -> str:
    return f"{SCHEME}{quote(server, safe='')}/{quote(uri, safe='{}', errors='replace')}"
