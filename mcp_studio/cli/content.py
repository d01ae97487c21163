"""Results as text: content blocks, resource contents, messages."""

from __future__ import annotations

from collections.abc import Iterator

from mcp_studio.jsontext import Json, items_of, mapping, pretty


def result_text(result: Json) -> str:
    """A tool's result: its content blocks; the structured content where no text says it already."""
    known = mapping(result)
    blocks = [block_text(block) for block in items_of(known.get("content"))]
    structured = known.get("structuredContent")
    if structured is not None and not any(mapping(b).get("type") == "text" for b in items_of(known.get("content"))):
        blocks.append(pretty(structured))
    return "\n".join(block.removesuffix("\n") for block in blocks)


def block_text(block: Json) -> str:
    """One content block (specification, server/tools); what cannot be shown as text is named with its size."""
    known = mapping(block)
    match known.get("type"):
        case "text" if isinstance(known.get("text"), str):
            return known["text"]
        case "image" | "audio" as kind:
            return f"[{kind} {_word(known, 'mimeType')}{_size(known.get('data'))}]"
        case "resource":
            return contents_text(known.get("resource"))
        case "resource_link":
            return f"[link {_word(known, 'uri')} {_word(known, 'title') or _word(known, 'name')}]".replace(" ]", "]")
        case _:
            return pretty(block)


def blocks_text(blocks: list[Json]) -> str:
    """Several blocks, each from a line of its own on."""
    return "\n".join(block_text(block).removesuffix("\n") for block in blocks)


def contents_text(item: Json) -> str:
    """One embedded or read resource."""
    known = mapping(item)
    if isinstance(known.get("text"), str):
        return known["text"]
    return f"[{_word(known, 'mimeType') or 'binary'} {_word(known, 'uri')}{_size(known.get('blob'))}]"


def messages_text(result: Json) -> str:
    """The messages of a prompt, each under the role that says it."""
    rows: list[str] = []
    for message in items_of(mapping(result).get("messages")):
        known = mapping(message)
        content = known.get("content")
        blocks = content if isinstance(content, list) else [content]
        rows += [f"{_word(known, 'role') or '?'}:", *("  " + line for block in blocks for line in _lines(block))]
    return "\n".join(rows)


def _lines(block: Json) -> Iterator[str]:
    yield from block_text(block).split("\n")


def _word(known: dict[str, Json], key: str) -> str:
    value = known.get(key)
    return value if isinstance(value, str) else ""


def _size(data: Json) -> str:
    """The size that base64 text stands for."""
    if not isinstance(data, str):
        return ""
    size = len(data) * 3 // 4 - data[-2:].count("=")
    return f", {size} B" if size < 1_000 else f", {size / 1_000:.1f} KB"
