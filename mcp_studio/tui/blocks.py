"""What a result says to a person: its content blocks in order. Pure functions over the raw JSON."""

from __future__ import annotations

import binascii
import re
from collections.abc import Iterator
from typing import Literal, NamedTuple, cast

from mcp_studio.errors import LimitExceeded
from mcp_studio.jsontext import Json, JsonProblem, loads
from mcp_studio.safetext import safe
from mcp_studio.tui import describe

MARKDOWN_MOST = 8_000
"""Characters; longer text is shown as it is."""
JSON_MOST = 2_000_000
"""Characters; longer text is not tried as JSON."""

BlockKind = Literal["text", "image", "audio", "file", "link", "unknown"]


class Block(NamedTuple):
    """One content block."""

    kind: BlockKind
    text: str = ""
    """Foreign text as it came."""
    mime: str = ""
    data: str = ""
    """Base64 as it came."""
    uri: str = ""
    title: str = ""
    """What stands above it: the role of a message, the address of a resource."""

    @property
    def size(self) -> int:
        """Bytes of the data, as base64 says."""
        return max(0, len(self.data) * 3 // 4 - self.data[-2:].count("="))


def blocks_of(result: Json) -> list[Block]:
    """The blocks of a result of tools/call (`content`), resources/read (`contents`) or prompts/get (`messages`)."""
    if not isinstance(result, dict):
        return []
    known = cast("dict[str, Json]", result)
    if isinstance(known.get("contents"), list):
        return [_resource(item, title=True) for item in known["contents"]]
    if isinstance(known.get("messages"), list):
        return list(_messages(known["messages"]))
    content = known.get("content")
    return [_block(item) for item in cast("list[Json]", content)] if isinstance(content, list) else []


def _messages(messages: list[Json]) -> Iterator[Block]:
    for message in messages:
        known = _mapping(message)
        content = known.get("content")
        for item in cast("list[Json]", content) if isinstance(content, list) else [content]:
            yield _block(item)._replace(title=_text(known, "role") or "no role")


def _block(item: Json) -> Block:
    known = _mapping(item)
    mime = _text(known, "mimeType")
    match known.get("type"):
        case "text" if isinstance(known.get("text"), str):
            return Block("text", known["text"])
        case "image":
            return Block("image", mime=mime, data=_text(known, "data"))
        case "audio":
            return Block("audio", mime=mime, data=_text(known, "data"))
        case "resource":
            return _resource(known.get("resource"), title=True)
        case "resource_link":
            name = _text(known, "title") or _text(known, "name")
            return Block("link", _text(known, "description"), mime, uri=_text(known, "uri"), title=name)
        case _:
            return Block("unknown", describe_json(item))


def _resource(item: Json, *, title: bool) -> Block:
    known = _mapping(item)
    uri, mime = _text(known, "uri"), _text(known, "mimeType")
    if isinstance(known.get("text"), str):
        return Block("text", known["text"], mime, uri=uri, title=f"{uri} {mime}".strip() if title else "")
    if isinstance(known.get("blob"), str):
        kind: BlockKind = "image" if mime.startswith("image/") else "audio" if mime.startswith("audio/") else "file"
        return Block(kind, mime=mime, data=known["blob"], uri=uri)
    return Block("unknown", describe_json(item))


def describe_json(item: Json) -> str:
    """Any JSON value as text that is bounded and safe."""
    return safe(item, 4_000)


def headline(block: Block) -> str:
    """One line on a block that is no plain text: what it is, how large, what can be done."""
    name = safe(block.uri or block.title, 300)
    what = safe(block.mime or "of unknown type", 100)
    match block.kind:
        case "image" | "audio" | "file":
            return " · ".join(filter(None, (block.kind, what, describe.size(block.size), name, "w saves it")))
        case "link":
            return " · ".join(
                filter(None, ("link", safe(block.title, 200), safe(block.uri, 500), safe(block.mime, 100)))
            )
        case "unknown":
            return "a block of unknown type"
        case _:
            return safe(block.title, 500)


def is_markdown(blocks: list[Block]) -> bool:
    """Whether it is text, short, and looks written as Markdown."""
    if not blocks or any(block.kind != "text" for block in blocks):
        return False
    if sum(len(block.text) for block in blocks) > MARKDOWN_MOST:
        return False
    if any(block.mime == "text/markdown" for block in blocks):
        return True
    return all(block.mime in ("", "text/markdown") for block in blocks) and any(
        _MARKDOWN.search(block.text) for block in blocks
    )


_MARKDOWN = re.compile(r"(?m)^(?:#{1,6} \S|```|[-*] \[[ x]\] |\|[ :-]+\|)|\*\*[^*\n]+\*\*|\[[^\]\n]+\]\(\S+\)")


def structured(result: Json) -> tuple[bool, Json]:
    """The structured part, or JSON that came as the only text; whether there is any, and its value."""
    known = _mapping(result)
    if "structuredContent" in known:
        return True, known["structuredContent"]
    blocks = blocks_of(result)
    if len(blocks) == 1 and blocks[0].kind == "text" and blocks[0].text.lstrip()[:1] in ("{", "["):
        if len(blocks[0].text) <= JSON_MOST:
            try:
                return True, loads(blocks[0].text, exact=True)
            except (JsonProblem, LimitExceeded):
                return False, None
    return False, None


def decode(block: Block) -> bytes:
    """The data of a block.

    Raises:
        ValueError: it is not base64.
    """
    try:
        return binascii.a2b_base64(block.data.encode("ascii"))
    except (binascii.Error, UnicodeEncodeError) as problem:
        raise ValueError(f"its data is not base64: {problem}") from None


def _mapping(value: Json) -> dict[str, Json]:
    return cast("dict[str, Json]", value) if isinstance(value, dict) else {}


def _text(known: dict[str, Json], key: str) -> str:
    value = known.get(key)
    return value if isinstance(value, str) else ""
