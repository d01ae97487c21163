"""The filesystem server: its roots and its resources."""

from __future__ import annotations

import base64
import os
from collections.abc import Iterable
from contextlib import suppress

from mcp_studio.errors import StudioError, UsageError
from mcp_studio.jsontext import Json, mapping
from mcp_studio.protocol.versions import INVALID_PARAMS
from mcp_studio.servers.files.beneath import Roots, entries, path_of, shown, uri_of
from mcp_studio.servers.files.content import opened, signature, whole
from mcp_studio.servers.files.tools import PREFIXES, FileTools, mime_of
from mcp_studio.servers.toolserver import Answer, RequestError, ToolServer, Turn, run

_LISTED = 500
_COMPLETIONS = 100
_TEMPLATE: dict[str, Json] = {"uriTemplate": "file://{+path}", "name": "file", "title": "Any file of the roots"}
_INSTRUCTIONS = """\
Files of some folders: list_directory without a path lists the first of them. Paths are absolute or below that one. \
Answers are bounded, and `truncated` says so; edit_file with dry_run shows what would change.
"""


class FileServer:
    """The handlers besides the tools.

    Args:
        roots: the folders of the command line; None serves those that the client names.
    """

    def __init__(self, roots: Iterable[str] | None) -> None:
        self.tools = FileTools(Roots(roots or ()))
        self._uses_client_roots = roots is None
        self._roots_known = False

    def add_to(self, server: ToolServer) -> None:
        """Register the handlers."""
        server.prepare, server.state = self.prepare, self._state
        server.noticed["notifications/roots/list_changed"] = self._forget_roots
        server.handlers |= {
            "resources/list": self._list, "resources/templates/list": self._templates,
            "resources/read": self._read, "completion/complete": self._complete,
        }  # fmt: skip
        server.greeting["capabilities"] = {"tools": {}, "resources": {"subscribe": True}, "completions": {}}

    async def prepare(self, turn: Turn) -> None:
        """Request the client's roots if they are served; in the stateless era each call requests them.

        Raises:
            StudioError: the client has no roots.
        """
        if not self._uses_client_roots or (self._roots_known and not turn.modern):
            return
        if "roots" not in turn.capabilities:
            raise StudioError("No folder is served, and your client has no roots.", hint="Start it with --root FOLDER.")
        found = (await turn.ask("roots/list", {})).get("roots")
        uris = [mapping(root).get("uri") for root in found] if isinstance(found, list) else []
        self.tools.roots = Roots(path_of(uri) for uri in uris if isinstance(uri, str) and uri.startswith("file://"))
        self._roots_known = True

    async def _ready(self, turn: Turn) -> None:
        """The same for requests that cannot ask the client; in the stateless era they use the last call's roots."""
        if not turn.modern:
            with suppress(StudioError):
                await self.prepare(turn)

    def _forget_roots(self) -> None:
        self._roots_known = False

    async def _list(self, turn: Turn) -> Answer:
        """List the files directly in the roots; the template covers all others."""
        await self._ready(turn)
        return {"resources": [one for root in self.tools.roots.paths for one in self._files(root)][:_LISTED]}

    def _files(self, root: str) -> list[Json]:
        try:
            with self.tools.roots.at(root) as place, place.listed() as folder:
                return [
                    {"uri": uri_of(path), "name": shown(one.name), "mimeType": mime_of(one.name)}
                    for one in entries(folder)
                    if one.is_file(follow_symlinks=False) and (path := os.path.join(root, one.name))
                ]
        except StudioError:
            return []  # the root is currently missing

    async def _templates(self, turn: Turn) -> Answer:
        return {"resourceTemplates": [_TEMPLATE]}

    async def _read(self, turn: Turn) -> Answer:
        uri = str(turn.request.params.get("uri"))
        try:
            await self.prepare(turn)
            if not uri.startswith("file://"):
                raise StudioError("That is no file:// address.")
            with self.tools.roots.at(uri) as place, opened(place) as file:
                data = whole(place.path, file)
        except StudioError as problem:
            code = INVALID_PARAMS if turn.modern else -32002
            raise RequestError(code, f"{problem.message} {problem.hint}".strip(), {"uri": uri}) from None
        contents: dict[str, Json] = {"uri": uri, "mimeType": mime_of(uri)}
        try:
            contents["text"] = data.decode()
        except UnicodeDecodeError:
            contents["blob"] = base64.b64encode(data).decode()
        return {"contents": [contents]}

    async def _complete(self, turn: Turn) -> Answer:
        """Complete paths of the template."""
        await self._ready(turn)
        typed = str(mapping(turn.request.params.get("argument")).get("value", ""))
        folder, _, start = typed.rpartition("/")
        try:
            with self.tools.roots.at(f"{folder}/") as place, place.listed() as handle:
                names = [shown(one.name) + "/" * one.is_dir(follow_symlinks=False) for one in entries(handle)]
            values = [f"{folder}/{name}" for name in names if name.startswith(start)]
        except StudioError:  # the folder is above the roots, or does not exist
            values = [f"{root}/" for root in self.tools.roots.paths if root.startswith(typed)]
        more = len(values) > _COMPLETIONS
        return {"completion": {"values": [*values[:_COMPLETIONS]], "total": len(values), "hasMore": more}}

    def _state(self, uri: str) -> tuple[int, ...]:
        """The state of a resource, to detect changes."""
        try:
            with self.tools.roots.at(uri) as place:
                return signature(place.stat())
        except StudioError:
            return ()


def build(roots: Iterable[str] | None, *, read_only: bool = False, names: str = "") -> ToolServer:
    """Build a server of some folders.

    Args:
        roots: None serves the folders that the client names.
        read_only: whether to leave out the tools that change something.
        names: a key of `PREFIXES` for the names of the tools; empty is `plain`.
    """
    files = FileServer(roots)
    server = ToolServer("mcp-studio-files", "Files", _INSTRUCTIONS)
    server.add(files.tools, prefix=PREFIXES[names or "plain"], changes=not read_only)
    files.add_to(server)
    return server


def start(roots: list[str], read_only: bool, names: str, port: int | None) -> int:
    """Serve until the client leaves (stdio) or the process is told to end (HTTP); returns the exit code.

    Args:
        roots: the folders; without any the client's are served, which only works on stdio.
        port: a port of 127.0.0.1, 0 for any free one; None is standard input and output.

    Raises:
        UsageError: a root is no folder, or there is none and one is needed.
    """
    if os.open not in os.supports_dir_fd:
        raise UsageError("This system cannot open files relative to a folder, which serving files safely needs.")
    for root in roots:
        if not os.path.isdir(root):
            raise UsageError(f"--root: `{root}` is no folder.")
    if port is not None and not roots:
        raise UsageError("Over HTTP the folders have to be named.", hint="--root FOLDER")
    return run(build(roots or None, read_only=read_only, names=names), port)
