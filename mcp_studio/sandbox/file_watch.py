"""Watches the source files of a local server, and reports their changes."""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import AsyncGenerator, Iterable
from pathlib import Path

from mcp_studio.config.model import ServerConfig
from mcp_studio.errors import UsageError

_FOLDERS = ("venv", "env", "target", ".cache", ".ruff_cache", ".mcp-studio")
"""Folders that are no part of a server's source, besides those that watchfiles ignores."""
_SOURCES = re.compile(
    r"(?i).*\.(pyi?|[cm]?[jt]sx?|json|toml|ya?ml|env|ini|cfg|sql|html|jinja2?|go|rs|rb|java|kts?|cs|php|lua|exs?|swift|sh)"
)
"""The files to watch if the person names none: a server may write other files while it runs."""
_WILDCARD = re.compile(r"\*\*/|\*\*|\*|\?|[^*?]+")
_FILES = 5


class FileWatch:
    """Reports changes of files.

    Args:
        globs: the files to watch, relative to the server's folder; without globs all sources in it.

    Raises:
        UsageError: watchfiles is not installed, or a folder does not exist or is too large to watch.
    """

    def __init__(self, server: ServerConfig, globs: Iterable[str]) -> None:
        try:
            from watchfiles import DefaultFilter
        except ImportError:
            hint = "Try: pip install 'mcp-studio[dev]'"
            raise UsageError("Watching files needs one more package, which is not installed.", hint=hint) from None
        folder = Path(server.cwd).absolute()
        scripts = [folder / word for word in server.args if not word.startswith("-") and (folder / word).is_file()]
        if scripts and not scripts[0].is_relative_to(folder):
            folder = scripts[0].parent
        patterns = [os.path.normpath(folder / glob) for glob in globs]
        self._folder = folder
        self._roots = [Path(re.split(r"[*?]", one, maxsplit=1)[0] + "x").parent for one in patterns] or [folder]
        for root in self._roots:
            if root in (Path.home(), Path(root.anchor)) or not root.is_dir():
                why = "is too large to be watched whole" if root.is_dir() else "is not there"
                raise UsageError(f"The folder {root} {why}.", hint="Name the files: --watch 'src/**/*.py'")
        self._default_filter = DefaultFilter(ignore_dirs=(*DefaultFilter.ignore_dirs, *_FOLDERS))
        self._matches = [re.compile(_WILDCARD.sub(_expression, one)) for one in patterns] or [_SOURCES]

    async def changes(self) -> AsyncGenerator[tuple[str, ...]]:
        """Yield an empty tuple once watching has begun, then the names of the files of each change, for people."""
        from watchfiles import Change, awatch

        def relevant(change: Change, path: str) -> bool:
            return self._default_filter(change, path) and any(one.fullmatch(path) for one in self._matches)

        watch = awatch(*self._roots, watch_filter=relevant, ignore_permission_denied=True)
        next_change = asyncio.ensure_future(anext(watch))
        try:
            await asyncio.sleep(0)
            yield ()
            while True:
                names = sorted({path.removeprefix(f"{self._folder}{os.sep}") for _, path in await next_change})
                next_change = asyncio.ensure_future(anext(watch))
                yield (*names[:_FILES], *[f"{len(names) - _FILES} more"] * (len(names) > _FILES))
        finally:
            next_change.cancel()
            await asyncio.wait((next_change,))
            await watch.aclose()


def _expression(found: re.Match[str]) -> str:
    """A part of a glob as a regular expression."""
    wild = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}
    return wild.get(found[0]) or re.escape(found[0])
