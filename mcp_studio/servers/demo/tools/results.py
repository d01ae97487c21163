"""Tools whose results show what a result can be."""

from __future__ import annotations

from mcp_studio.servers.demo import resources as media
from mcp_studio.servers.demo import resources as texts
from mcp_studio.servers.demo import tool as content
from mcp_studio.servers.demo.resources import PAGE, WELCOME, book_uri
from mcp_studio.servers.demo.tool import READ, Args, Result, Toolbox, inputs, whole
from mcp_studio.servers.demo.turn import Turn

TOOLS = Toolbox()

KILOBYTES = inputs({"kilobytes": whole(1, 32_768, 100, "Size of the result")})


@TOOLS.tool("show_markdown", "Show Markdown", "A result written in Markdown.", inputs(), hints=READ)
async def show_markdown(turn: Turn, args: Args) -> Result:
    """Markdown in a text block."""
    return content.result(texts.MARKDOWN)


@TOOLS.tool(
    "show_structured",
    "Show structured content",
    "A nested JSON object that follows an output schema, and the same as text.",
    inputs(),
    hints=READ,
    output={
        "type": "object",
        "properties": {
            "open": {"type": "boolean"},
            "hours": {"type": "object", "additionalProperties": {"type": "array", "items": {"type": "string"}}},
            "visitors": {"type": "array", "items": {"type": "integer"}},
            "owner": {"type": ["string", "null"]},
            "largest_sale": {"type": "integer", "description": "Larger than a double can hold exactly"},
        },
        "required": ["open", "hours"],
    },
)
async def show_structured(turn: Turn, args: Args) -> Result:
    """Structured content of several kinds."""
    hours = {"monday": ["9:00", "18:00"], "saturday": ["10:00", "14:00"], "sunday": []}
    data = {"open": True, "hours": hours, "visitors": [12, 7, 0, 31], "owner": None, "largest_sale": 2**53 + 1}
    return content.result("Open; Monday 9 to 18, Saturday 10 to 14.", structured=data)


@TOOLS.tool(
    "show_image",
    "Show an image",
    "A PNG picture of the lantern over the door.",
    inputs({"size": whole(8, 512, 96, "Width and height in pixels")}),
    hints=READ,
)
async def show_image(turn: Turn, args: Args) -> Result:
    """An image block."""
    return content.result(content.image(media.png(args.get("size", 96))))


@TOOLS.tool(
    "show_audio",
    "Show audio",
    "The shop bell as a WAV sound.",
    inputs({"seconds": {"type": "number", "minimum": 0.1, "maximum": 10, "default": 0.5}}),
    hints=READ,
)
async def show_audio(turn: Turn, args: Args) -> Result:
    """An audio block."""
    return content.result(content.audio(media.wav(args.get("seconds", 0.5))))


@TOOLS.tool(
    "show_every_block",
    "Show every kind of content",
    "One block of each kind: text, Markdown, image, audio, embedded resources and links.",
    inputs(),
    hints=READ,
)
async def show_every_block(turn: Turn, args: Args) -> Result:
    """All content blocks in one result."""
    book = turn.shop.books()[0] if turn.shop.books() else None
    uri = book_uri(book) if book else WELCOME
    return content.result(
        content.text("Plain text, for the user only.", annotations={"audience": ["user"], "priority": 0.9}),
        texts.MARKDOWN,
        content.image(media.png(48)),
        content.audio(media.wav(0.2)),
        content.embedded("shop://note", "text/plain", "A note that travels inside the result."),
        content.embedded("shop://stamp", "application/octet-stream", bytes(range(64))),
        content.link(uri, "first-book", "The first book on the shelves", "application/json"),
        content.link(WELCOME, "welcome", "The sign at the door", "text/markdown"),
    )


@TOOLS.tool(
    "show_wrong_structure",
    "Show a broken structure",
    "Structured content that does not match the output schema. The studio marks each place.",
    inputs(),
    hints=READ,
    output={
        "type": "object",
        "properties": {"books": {"type": "array", "items": {"type": "string"}}, "open": {"type": "boolean"}},
        "required": ["books", "open", "since"],
    },
)
async def show_wrong_structure(turn: Turn, args: Args) -> Result:
    """Structured content with three things wrong."""
    return content.result("Two books, and a mistake.", structured={"books": ["Salt", 7], "open": "yes"})


@TOOLS.tool(
    "show_page",
    "Show a page of its own",
    "A tool with a page (MCP Apps): its source can be read, and opened in a browser on request.",
    inputs(),
    hints=READ,
    meta={"ui": {"resourceUri": PAGE, "visibility": ["model", "app"]}},
)
async def show_page(turn: Turn, args: Args) -> Result:
    """What the page would show."""
    return content.result("The lantern is lit.", structured={"lit": True})


@TOOLS.tool("show_nothing", "Show nothing", "A result without any content.", inputs(), hints=READ)
async def show_nothing(turn: Turn, args: Args) -> Result:
    """An empty result."""
    return content.result()


@TOOLS.tool("show_long_text", "Show a long text", "Numbered lines up to the size you ask for.", KILOBYTES, hints=READ)
async def show_long_text(turn: Turn, args: Args) -> Result:
    """A large text."""
    return content.result(texts.long_text(args.get("kilobytes", 100)))


@TOOLS.tool("show_long_json", "Show long JSON", "A structured list up to the size you ask for.", KILOBYTES, hints=READ)
async def show_long_json(turn: Turn, args: Args) -> Result:
    """A large structured result."""
    data = texts.long_json(args.get("kilobytes", 100))
    return content.result(f"{data['count']} sales.", structured=data)


@TOOLS.tool("show_unicode", "Show Unicode", "Words in many scripts, wide and combining signs.", inputs(), hints=READ)
async def show_unicode(turn: Turn, args: Args) -> Result:
    """Text of many scripts."""
    return content.result(texts.UNICODE)


@TOOLS.tool(
    "show_hostile_text",
    "Show hostile text",
    "Text that tries to colour, clear, rename or fool your terminal. The studio makes every attempt visible.",
    inputs({"kind": {"type": "string", "enum": ["everything", *texts.HOSTILE], "default": "everything"}}),
    hints=READ,
)
async def show_hostile_text(turn: Turn, args: Args) -> Result:
    """Text with escape sequences and tricks."""
    kind = args.get("kind", "everything")
    chosen = texts.HOSTILE if kind == "everything" else {kind: texts.HOSTILE[kind]}
    return content.result("\n".join(f"{name}: {attempt}" for name, attempt in chosen.items()))
