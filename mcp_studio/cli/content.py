"""Results as text: content blocks, resources and messages."""

from __future__ import annotations

from collections.abc import Iterable

from mcp_studio.errors import LimitExceeded
from mcp_studio.jsontext import Json, JsonProblem, items_of, loads, mapping, pretty, printable
from mcp_studio.schema.check import equal


def result_text(result: Json) -> str:
    """The content of a tool's result, without its structured content."""
    return joined(map(block_text, items_of(mapping(result).get("content"))))


def structured_text(result: Json, indent: int | None = 2) -> str:
    """The structured content of a tool's result as JSON; empty where there is none, or the text says it already."""
    known = mapping(result)
    if "structuredContent" not in known:
        return ""
    blocks = map(mapping, items_of(known.get("content")))
    texts = [block["text"] for block in blocks if isinstance(block.get("text"), str)]
    value = known["structuredContent"]
    # SDKs wrap what is no object: the text is then what is inside.
    inner = (value["result"],) if mapping(value).keys() == {"result"} else ()
    return "" if any(_says(texts, one) for one in (value, *inner)) else printable(value, indent=indent)


def _says(texts: list[str], value: Json) -> bool:
    """Whether texts are a value: as JSON, as it is, or an item each."""
    if len(texts) == 1:
        try:
            return texts[0] == value or equal(loads(texts[0]), value)
        except (JsonProblem, LimitExceeded):
            return False
    items = items_of(value)
    return len(texts) == len(items) > 0 and all(map(_says, ([text] for text in texts), items))


def block_text(block: Json) -> str:
    """One content block (specification, server/tools); what cannot be shown as text is named with its size."""
    known = mapping(block)
    match known.get("type"):
        case "text" if isinstance(known.get("text"), str):
            return known["text"]
        case "image" | "audio" as kind:
            return f"[{kind} {_word(known, 'mimeType')}{_size(known.get('data'))}]"
        case "resource":
            held = mapping(known.get("resource"))
            is_text = isinstance(held.get("text"), str)
            return f"{_named(held)}\n{held['text']}" if is_text else contents_text(held)
        case "resource_link":
            return f"[link {_word(known, 'uri')} {_word(known, 'title') or _word(known, 'name')}]".replace(" ]", "]")
        case _:
            return pretty(block)


def joined(parts: Iterable[str]) -> str:
    """Parts of a text, each from a line of its own on; the last one ends as it does."""
    found = list(parts)
    return "\n".join([*(part.removesuffix("\n") for part in found[:-1]), *found[-1:]])


def contents_text(item: Json) -> str:
    """One embedded or read resource."""
    known = mapping(item)
    return known["text"] if isinstance(known.get("text"), str) else _named(known)


def resource_text(result: Json) -> str:
    """What reading a resource gave."""
    return joined(map(contents_text, items_of(mapping(result).get("contents"))))


def messages_text(result: Json) -> str:
    """The messages of a prompt, each under the role that says it."""
    rows: list[str] = []
    for message in items_of(mapping(result).get("messages")):
        lines = (line for block in blocks_of(message) for line in block_text(block).split("\n"))
        rows += [f"{_word(mapping(message), 'role') or '?'}:", *("  " + line for line in lines)]
    return "\n".join(rows)


def blocks_of(message: Json) -> list[Json]:
    """The content of a message, which is a block or a list of them."""
    content = mapping(message).get("content")
    return items_of(content) if isinstance(content, list) else [content]


def _named(known: dict[str, Json]) -> str:
    """An embedded or read resource by its type and address."""
    kind = _word(known, "mimeType") or ("text" if "text" in known else "binary")
    return f"[{kind} {_word(known, 'uri')}{_size(known.get('blob'))}]"


def _word(known: dict[str, Json], key: str) -> str:
    value = known.get(key)
    return value if isinstance(value, str) else ""


def _size(data: Json) -> str:
    """The size that base64 text stands for."""
    if not isinstance(data, str):
        return ""
    size = len(data) * 3 // 4 - data[-2:].count("=")
    return f", {size} B" if size < 1_000 else f", {size / 1_000:.1f} KB"
