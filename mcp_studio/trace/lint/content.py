"""Rules about content: blocks of tool results and prompts, contents of resources, icons, `_meta`."""

from __future__ import annotations

import re
from typing import cast

from mcp_studio.jsontext import Json
from mcp_studio.protocol.versions import at_least
from mcp_studio.trace.lint.shape import Look
from mcp_studio.trace.lint.words import kind_of, quoted

_BLOCKS = {
    "text": "2024-11-05",
    "image": "2024-11-05",
    "resource": "2024-11-05",
    "audio": "2025-03-26",
    "resource_link": "2025-06-18",
}
"""Content block type -> the version that brought it."""
_SCHEME = r"[A-Za-z][A-Za-z0-9+.-]*:"
_PREFIX = r"[A-Za-z]([A-Za-z0-9-]*[A-Za-z0-9])?(\.[A-Za-z]([A-Za-z0-9-]*[A-Za-z0-9])?)*"
_NAME = r"([A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?)?"
# Patterns as texts: they are compiled when the first message needs them, not at every start.
_KEYS = 100
_ANNOTATIONS = "server/resources#annotations"
_ICONS = 50


def check_block(block: Look, version: str) -> None:
    """One content block (specification, server/tools, "Tool Result")."""
    kind = block.raw.get("type")
    if not isinstance(kind, str):
        block.say("content-block", f"{block.name} has no type.", "type")
        return
    if kind not in _BLOCKS:
        block.say("content-block", f"{block.name} has the unknown type {quoted(kind)}.", "type")
        return
    if version and not at_least(version, _BLOCKS[kind]):
        block.say("content-block", f"{block.name} has the type {kind}, which came with {_BLOCKS[kind]}.", "type")
    check_annotations(block)
    if kind == "text":
        block.needs("text")
    elif kind in ("image", "audio"):
        block.needs("data")
        block.needs("mimeType")
    elif kind == "resource_link":
        check_uri(block)
        block.needs("name")
    elif inner := block.inner("resource", f"the resource of {block.name}", required=True):
        check_resource(inner)


def check_resource(resource: Look) -> None:
    """One item of `contents`: a URI, and either text or bytes (specification, server/resources)."""
    check_uri(resource)
    resource.may("mimeType")
    if "text" in resource.raw:
        resource.may("text")
    elif "blob" in resource.raw:
        resource.may("blob")
    else:
        resource.say("missing-field", f"{resource.name} has neither text nor blob.")


def check_annotations(look: Look) -> None:
    """Specification, server/resources, "Annotations": for whom it is, and how much it matters."""
    notes = look.inner("annotations", f"the annotations of {look.name}")
    if notes is None:
        return
    if any(who not in ("user", "assistant") for who in notes.items("audience", required=False)[:_ICONS]):
        notes.say("wrong-type", "The audience is neither user nor assistant.", "audience", _ANNOTATIONS)
    if notes.may("priority", "a number") and not 0 <= notes.raw["priority"] <= 1:
        notes.say("wrong-type", "The priority is not between 0 and 1.", "priority", _ANNOTATIONS)
    notes.may("lastModified")


def check_uri(look: Look, key: str = "uri") -> None:
    """A URI that must be there."""
    if look.needs(key) and not re.match(_SCHEME, look.raw[key]):
        look.say(
            "resource-uri", f"{quoted(look.raw[key])} is no URI: it has no scheme.", key, "server/resources#resource"
        )


def check_icons(look: Look) -> None:
    """Specification, basic, "icons": https or data, nothing that runs or reads something local."""
    for index, icon in enumerate(look.items("icons", required=False)[:_ICONS]):
        inner = look.item("icons", index, icon, f"an icon of {look.name}")
        if inner is None or not inner.needs("src"):
            continue
        source = cast("str", inner.raw["src"])
        if not source.lower().startswith(("https:", "data:")):
            scheme = source.split(":", 1)[0][:20] if ":" in source else "no scheme"
            inner.say(
                "icon-source", f"{inner.name} is neither https nor data ({quoted(scheme)}).", "src", "basic#icons"
            )


def check_meta(look: Look) -> None:
    """Specification, basic, "_meta": an object whose keys are names with an optional prefix."""
    if "_meta" not in look.raw:
        return
    meta = look.raw["_meta"]
    if not isinstance(meta, dict):
        look.say("wrong-type", f"_meta of {look.name} is {kind_of(meta)}; it must be an object.", "_meta", "basic#meta")
        return
    for key in list(cast("dict[str, Json]", meta))[:_KEYS]:
        prefix, slash, name = key.rpartition("/")
        if (slash and not re.fullmatch(_PREFIX, prefix)) or not re.fullmatch(_NAME, name):
            look.say("meta-key", f"{quoted(key)} is no valid key of _meta.", "_meta", "basic#meta")
