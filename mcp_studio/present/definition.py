"""A server's definition of one entry in words: hints, tasks, mirrored headers, icons, metadata. Pure functions.

All of it is foreign text: each value becomes one safe line, so that none can look like a line of ours.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from mcp_studio.catalog.listing import Change, ChangeKind, Entry, Listing, diff, doubts_of
from mcp_studio.config.expand import uses
from mcp_studio.config.model import ServerConfig
from mcp_studio.jsontext import Json, dumps, items_of, mapping, printable
from mcp_studio.present import units
from mcp_studio.protocol.views import PromptView, ResourceView, TemplateView, ToolView, mirrored, param_headers
from mcp_studio.safetext import safe

_WIDTH = 14
_HINTS = {"readOnlyHint": False, "destructiveHint": True, "idempotentHint": False, "openWorldHint": True}
"""The hints of a tool, and their defaults (specification, ToolAnnotations)."""
_TASKS = {"required": "must be run as a task", "optional": "can be run as a task"}
_SHOWN = frozenset(
    "name title description inputSchema outputSchema annotations execution icons _meta uri uriTemplate mimeType size "
    "arguments".split()
)
"""The members that have lines of their own."""
_DOUBTS = 20
"""The most doubtful entries of one list that are named."""
_CHANGES: tuple[ChangeKind, ...] = ("new", "changed", "gone")


def about(entry: Entry, value: Json, sends_headers: bool) -> str:
    """An entry without its schemas, as lines.

    Args:
        value: the current arguments: mirrored headers are shown with the values that would be sent.
        sends_headers: whether the connection mirrors arguments into headers (HTTP, 2026-07-28).
    """
    return "\n".join(line.rstrip() for line in _lines(entry, value, sends_headers))


def _lines(entry: Entry, value: Json, sends_headers: bool) -> Iterator[str]:
    view = entry.view
    if entry.problem:
        yield _row("problem", entry.problem)
    for doubt in doubts_of([entry]).values():
        yield _row("caution", doubt)
    yield from _names(entry)
    match view:
        case ToolView():
            yield from _tool(view, value, sends_headers)
        case PromptView():
            yield from _prompt(view)
        case ResourceView() | TemplateView():
            yield from _resource(view)
    if view.description:
        yield "description"
        yield from (f"  {line}" for line in safe(view.description, 20_000, lines=True).splitlines())
    yield from icons(view.raw.get("icons"))
    yield from _json("_meta", view.raw.get("_meta"))
    if more := [key for key in view.raw if key not in _SHOWN]:
        yield _row("also", f"{', '.join(more)} (on the tab Schema)")


def _names(entry: Entry) -> Iterator[str]:
    view = entry.view
    yield _row("name", view.name or "none")
    if title := view.raw.get("title"):
        yield _row("title", title)
    if isinstance(view, ToolView) and (second := view.annotations.get("title")) and second != title:
        yield _row("title", f"{second} (of its annotations)")


def _tool(tool: ToolView, value: Json, sends_headers: bool) -> Iterator[str]:
    yield "hints          what the server claims, not a guarantee"
    for name, usual in _HINTS.items():
        hint = tool.annotations.get(name)
        if hint is None and tool.read_only and name in ("destructiveHint", "idempotentHint"):
            continue  # both are without meaning for a tool that only reads
        words = str(hint).lower() if isinstance(hint, bool) else f"not declared, so {str(usual).lower()}"
        yield _row(f"  {name.removesuffix('Hint')}", words)
    for name, hint in tool.annotations.items():
        if name not in _HINTS and name != "title":
            yield _row(f"  {name}", _short(hint))
    if execution := mapping(tool.raw.get("execution")):
        support = execution.get("taskSupport")
        yield _row("tasks", _TASKS.get(str(support), f"not run as a task ({_short(support)})"))
    schema = tool.output_schema
    yield _row("output", "structured, checked against its outputSchema" if schema is not None else "no outputSchema")
    yield from _headers(tool, value, sends_headers)


def _headers(tool: ToolView, value: Json, sends_headers: bool) -> Iterator[str]:
    mirrors = mirrored(tool.input_schema)
    if not mirrors:
        return
    where = "sent with each call" if sends_headers else "not sent here: only over HTTP in 2026-07-28"
    yield _row("headers", f"arguments mirrored into HTTP headers (x-mcp-header), {where}")
    values = dict(param_headers(tool.input_schema, mapping(value)))
    for name, path in mirrors:
        now = f" = {safe(values[name], 200)}" if name in values else " (not set, so not sent)"
        yield f"  {safe(name, 80)} ← {safe('.'.join(path), 200)}{now}"


def _resource(view: ResourceView | TemplateView) -> Iterator[str]:
    if isinstance(view, TemplateView):
        yield _row("template", view.uri_template)
    else:
        yield _row("uri", view.uri)
        if view.size is not None:
            yield _row("size", f"{units.size(view.size)}, {view.size:,} bytes")
    if view.mime_type:
        yield _row("type", view.mime_type)
    for name, value in mapping(view.raw.get("annotations")).items():
        text = ", ".join(map(str, items_of(value))) if name == "audience" else _short(value)
        yield _row({"lastModified": "modified"}.get(name, name), text)


def _prompt(prompt: PromptView) -> Iterator[str]:
    yield _row("arguments", units.plural(len(prompt.arguments), "argument"))
    for one in prompt.arguments:
        title = f" ({one['title']})" if isinstance(one.get("title"), str) else ""
        need = "required" if one.get("required") is True else "optional"
        yield f"  {safe(one.get('name'), 60)}{safe(title, 80)}: {need}"


def changes(change: Change | None, entry: Entry) -> str:
    """The differences since the person last looked, one per line; empty if there are none."""
    if change is None or change.before is None:
        return ""
    return "\n".join(("", "", "Since you last looked:", *diff(change.before, entry.view.raw)))


def icons(value: Json) -> Iterator[str]:
    """The icons as the server describes them; they are never fetched."""
    icons = items_of(value)
    if not icons:
        return
    yield _row("icons", f"{units.plural(len(icons), 'icon')}, not fetched")
    for item in icons[:20]:
        icon = mapping(item)
        sizes = icon.get("sizes")
        size = " ".join(map(str, items_of(sizes))) if isinstance(sizes, list) else sizes
        parts = (_address(icon.get("src")), icon.get("mimeType"), size, icon.get("theme"))
        yield "  " + " · ".join(safe(part, 200) for part in parts if part)


def _address(source: Json) -> str:
    text = source if isinstance(source, str) else "no src"
    return f"{text[:40]}… ({units.size(len(text))} of data)" if text.startswith("data:") and len(text) > 60 else text


def _json(name: str, value: Json) -> Iterator[str]:
    fields = mapping(value)
    if not fields:
        return
    first, *rest = printable(fields).splitlines()
    yield f"{name:<{_WIDTH}} {first}"
    yield from (f"{'':<{_WIDTH}} {line}" for line in rest[:200])


def _row(name: str, value: object) -> str:
    return f"{safe(name, 40):<{_WIDTH}} {safe(value, 1_000)}"


def _short(value: Json) -> str:
    return value if isinstance(value, str) else dumps(value)[:400].decode("utf-8", "replace")


def cautions(server: ServerConfig) -> list[str]:
    """The requests of an entry that a person should know before agreeing to it, besides the server itself."""
    auth, tls = server.auth, server.tls
    lines = ["accepts any certificate: whoever is in between can read and change everything"] if tls.insecure else []
    if tls.ca:
        lines.append(f"accepts certificates of the authorities in {tls.ca}")
    if tls.cert:
        lines.append(f"shows the client certificate in {tls.cert}")
    if auth.kind not in ("", "none", "code"):
        lines.append(f"signs in by itself ({auth.kind.replace('_', ' ')})")
    places = (("signs in at", auth.issuer), ("sends an identity token to", auth.idp_token_endpoint))
    lines += [f"{what} {where}" for what, where in places if where]
    lines += ["signs in without PKCE being promised"] if auth.assume_pkce else []
    lines += [f"runs a program for its headers: {' '.join(server.headers_command)}"] if server.headers_command else []
    secrets = sorted({name for name, _ in uses(server)})
    return [*lines, f"gets your stored secrets {', '.join(secrets)}"] if secrets else lines


def target_of(server: ServerConfig) -> str:
    """The address or command as the configuration has it; the caller redacts its secrets."""
    config = server.written or server
    return config.url or " ".join((config.command, *config.args))


def doubts(listing: Listing) -> list[str]:
    """Doubtful names and descriptions in a list. Foreign text."""
    lines = [f"{ref.name}: {doubt}" for ref, doubt in doubts_of(listing.entries).items()]
    return [*lines[:_DOUBTS], *([f"{len(lines) - _DOUBTS:,} more are doubtful"] if len(lines) > _DOUBTS else ())]


def change_counts(some: Iterable[Change]) -> str:
    """`2 new, 1 gone`; empty if nothing has changed."""
    counts = Counter(change.kind for change in some)
    return ", ".join(f"{counts[kind]:,} {kind}" for kind in _CHANGES if counts[kind])
