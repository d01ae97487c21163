"""The content blocks of a result in order, for a person. Pure functions over the raw JSON."""

import binascii
from collections.abc import Iterable, Iterator, Mapping
from hashlib import sha256
from itertools import chain
from typing import Literal, NamedTuple

from mcp_studio.jsontext import Json, cut, items_of, loads_or, mapping, pretty, text_pieces
from mcp_studio.present import units
from mcp_studio.protocol.views import is_app, text_of
from mcp_studio.safetext import safe
from mcp_studio.schema.check import equal

MARKDOWN = "text/markdown"
MARKDOWN_MOST = 32_000
"""The most characters that are rendered as Markdown; longer text is shown unchanged."""
JSON_MOST = 2_000_000
"""The most characters that are parsed as JSON."""

BlockKind = Literal["text", "image", "audio", "file", "link", "app", "unknown"]


class Block(NamedTuple):
    """One content block."""

    kind: BlockKind
    text: str | memoryview = ""
    """The foreign text, unchanged; a large one is a JSON string."""
    mime: str = ""
    data: str | memoryview = ""
    """The base64 text, unchanged; a large one is a JSON string."""
    uri: str = ""
    title: str = ""
    """The line above the block: the role of a message, or the address of a resource."""
    about: str = ""
    """The annotations in words: audience, priority and age."""
    raw: Json = None
    """The raw block of an app (its page and what that may access) or of an unknown type."""

    @property
    def size(self) -> int:
        """The size of the data in bytes, computed from the base64 text."""
        return max(0, len(self.data) * 3 // 4 - [*self.data[-3:]].count("="))


def blocks_of(result: Json) -> list[Block]:
    """The blocks of a result of tools/call (`content`), resources/read (`contents`) or prompts/get (`messages`)."""
    fields = mapping(result)
    if isinstance(fields.get("contents"), list):
        return [_resource(item, title=True) for item in fields["contents"]]
    if isinstance(fields.get("messages"), list):
        return list(_messages(fields["messages"]))
    return [_block(item) for item in items_of(fields.get("content"))]


def _messages(messages: list[Json]) -> Iterator[Block]:
    for message in messages:
        role = text_of(mapping(message), "role") or "no role"
        for block in message_blocks(message):
            yield block._replace(title=f"{role}: {block.title}" if block.kind == "link" else role)


def message_blocks(message: Json) -> list[Block]:
    """The content of a message, which is a block or a list of blocks."""
    content = mapping(message).get("content")
    return [_block(item) for item in (content if isinstance(content, list) else [content])]


def app_block(uri: str) -> Block:
    """A link to the page of the tool that was called."""
    return Block("link", "The tool has a page of its own (MCP Apps).", uri=uri, title="page of the tool")


def _block(item: Json) -> Block:
    return _bare(item)._replace(about=annotation_words(mapping(item).get("annotations")))


def annotation_words(value: Json) -> str:
    """The annotations of a content block or resource in words (specification, server/resources#annotations)."""
    fields = mapping(value)
    names = [name for name in items_of(fields.get("audience")) if isinstance(name, str)]
    parts = [f"for {' and '.join(names)}"] if names else []
    priority = fields.get("priority")
    if isinstance(priority, (int, float)) and not isinstance(priority, bool):
        # An integer may have hundreds of digits.
        parts.append(f"priority {safe(priority, 12) if isinstance(priority, int) else f'{priority:g}'}")
    if modified := text_of(fields, "lastModified"):
        parts.append(f"changed {modified}")
    return safe(", ".join(parts), 200)


def _bare(item: Json) -> Block:
    fields = mapping(item)
    mime = text_of(fields, "mimeType")
    match fields.get("type"):
        case "text" if isinstance(fields.get("text"), (str, memoryview)):
            return Block("text", fields["text"])
        case "image" | "audio" as kind:
            return Block(kind, mime=mime, data=_text(fields, "data"))
        case "resource":
            return _resource(fields.get("resource"), title=True)
        case "resource_link":
            name = text_of(fields, "title") or text_of(fields, "name")
            return Block("link", text_of(fields, "description"), mime, uri=text_of(fields, "uri"), title=name)
        case _:
            return Block("unknown", safe(item, 4_000), raw=item)


def _text(fields: dict[str, Json], key: str) -> str | memoryview:
    return value if isinstance(value := fields.get(key), (str, memoryview)) else ""


def _resource(item: Json, *, title: bool) -> Block:
    fields = mapping(item)
    uri, mime = text_of(fields, "uri"), text_of(fields, "mimeType")
    if is_app(fields):
        return Block("app", "".join(text_pieces(_text(fields, "text"))) or _decoded(fields), mime, uri=uri, raw=item)
    if isinstance(fields.get("text"), (str, memoryview)):
        return Block("text", fields["text"], mime, uri=uri, title=f"{uri} {mime}".strip() if title else "")
    if isinstance(fields.get("blob"), (str, memoryview)):
        kind: BlockKind = "image" if mime.startswith("image/") else "audio" if mime.startswith("audio/") else "file"
        return Block(kind, mime=mime, data=fields["blob"], uri=uri)
    return Block("unknown", safe(item, 4_000), raw=item)


def _decoded(known: dict[str, Json]) -> str:
    """The decoded base64 of a page."""
    try:
        return decode(Block("app", data=_text(known, "blob"))).decode("utf-8", "replace")
    except ValueError:
        return ""


KEY_HINTS: Mapping[str, str] = {
    "image": "enter enlarges it · o opens it · s saves it", "audio": "o opens it · s saves it",
    "file": "s saves it", "link": "enter reads it", "app": "o opens it in the browser, held to what it declares",
}  # fmt: skip
"""What the keys do with a block, by its kind."""


def headline(block: Block) -> str:
    """One line about a block that is no plain text: its kind, type, size and name."""
    name = safe(block.uri or block.title, 300)
    what = safe(block.mime or "of unknown type", 100)
    match block.kind:
        case "image" | "audio" | "file":
            parts = [block.kind, what, units.size(block.size), name, block.about]
        case "link":
            parts = ["link", safe(block.title, 200), safe(block.uri, 500), safe(block.mime, 100), block.about]
        case "app":
            parts = ["page of an MCP App", safe(block.uri, 300)]
        case "unknown":
            parts = ["a block of unknown type", block.about]
        case _:
            parts = [safe(block.title, 500), block.about]
    return " · ".join(filter(None, parts))


def plain(block: Block) -> Iterator[str]:
    """A block as pieces of plain text, not sanitized; a block without text becomes a line with its type and size."""
    match block.kind:
        case "text" | "app":
            yield from chain((f"[{block.title}]\n" * bool(block.title),), text_pieces(block.text))
        case _:
            yield pretty(block.raw) if block.kind == "unknown" else f"[{headline(block)}]"


def joined(texts: Iterable[Iterable[str]]) -> Iterator[str]:
    """Join texts in pieces so that each begins on a line of its own; one alone stays what it is."""
    last = "\n"
    for text in texts:
        if not last.endswith("\n"):
            yield "\n"
        for piece in text:
            yield piece
            last = piece or last


def result_text(result: Json) -> Iterator[str]:
    """The content of a tool's result as pieces of plain text, without its structured content."""
    return joined(map(plain, blocks_of(result)))


def resource_text(result: Json) -> Iterator[str]:
    """The result of reading a resource as pieces of plain text."""
    return joined(plain(block._replace(title="")) for block in blocks_of(result))


def messages_text(result: Json) -> Iterator[str]:
    """The messages of a prompt as pieces of plain text, each message under its role."""
    for message in items_of(mapping(result).get("messages")):
        yield f"{text_of(mapping(message), 'role') or '?'}:"
        for block in message_blocks(message):
            yield from (piece.replace("\n", "\n  ") for piece in chain(("\n",), plain(block)))
        yield "\n"


def structured(result: Json) -> tuple[bool, Json]:
    """Whether a result has structured content, or JSON as its only text; and that value."""
    fields = mapping(result)
    if "structuredContent" in fields:
        return True, fields["structuredContent"]
    blocks = blocks_of(result)
    text = blocks[0].text if len(blocks) == 1 and blocks[0].kind == "text" and len(blocks[0].text) <= JSON_MOST else ""
    value = loads_or(text, exact=True) if isinstance(text, str) and text.lstrip()[:1] in ("{", "[") else None
    return value is not None, value


def structured_content(result: Json) -> list[Json]:
    """The structured content of a tool's result as the only item; an empty list if the text says the same."""
    fields = mapping(result)
    texts = [block.text for block in blocks_of(result) if block.kind == "text" and not block.uri]
    values = [fields["structuredContent"]] if "structuredContent" in fields else []
    # SDKs wrap a value that is no object; the text then has only the inner value.
    inner = [value["result"] for value in values if mapping(value).keys() == {"result"}]
    return [] if any(_repeats(texts, one) for one in (*values, *inner)) else values


def _repeats(texts: list[Json], value: Json) -> bool:
    """Whether texts repeat a value: as JSON, unchanged, or one item per text."""
    if len(texts) == 1:
        if isinstance(value, memoryview):  # the same JSON with other white space; any other spelling is shown, too
            return _sum(one.encode("utf-8", "replace") for one in text_pieces(texts[0])) == _sum(map(bytes, cut(value)))
        text = "" if isinstance(texts[0], memoryview) else texts[0]
        return text == value or equal(loads_or(text, text), value)
    items = items_of(value)
    return len(texts) == len(items) > 0 and all(map(_repeats, ([text] for text in texts), items))


def _sum(pieces: Iterable[bytes]) -> bytes:
    """A hash of JSON text without its white space."""
    sum = sha256()
    for piece in pieces:
        sum.update(piece.translate(None, b" \t\r\n"))
    return sum.digest()


def decode(block: Block) -> bytes:
    """Decode the data of a block.

    Raises:
        ValueError: the data is not base64.
    """
    try:
        return binascii.a2b_base64(block.data.encode("ascii") if isinstance(block.data, str) else block.data[1:-1])
    except (binascii.Error, UnicodeEncodeError) as problem:
        raise ValueError(f"its data is not base64: {problem}") from None
