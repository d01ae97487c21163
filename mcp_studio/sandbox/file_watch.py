"""The files of a server that is a program: which of them there are to watch, and when they change."""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import AsyncGenerator, Iterable
from pathlib import Path

from mcp_studio.config.model import ServerConfig
from mcp_studio.errors import UsageError

_FOLDERS = ("venv", "env", "target", ".cache", ".ruff_cache", ".mcp-studio")
"""Folders whose files are no part of a server, besides those that watchfiles leaves out."""
_SOURCES = re.compile(
    r"(?i).*\.(pyi?|[cm]?[jt]sx?|json|toml|ya?ml|env|ini|cfg|sql|html|jinja2?|go|rs|rb|java|kts?|cs|php|lua|exs?|swift|sh)"
)
"""What counts where nobody names files: a server may write others while it runs."""
_WILDCARD = re.compile(r"\*\*/|\*\*|\*|\?|[^*?]+")
_FILES = 5


class FileWatch:
    """Tells when files change.

    Args:
        globs: which, from the server's folder; without any the sources in it.

    Raises:
        UsageError: the package for it is not installed, or a folder is not there, or has everything in it.
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
        self._known = DefaultFilter(ignore_dirs=(*DefaultFilter.ignore_dirs, *_FOLDERS))
        self._matches = [re.compile(_WILDCARD.sub(_expression, one)) for one in patterns] or [_SOURCES]

    async def changes(self) -> AsyncGenerator[tuple[str, ...]]:
        """Nothing as soon as no change is missed any more, then names of files for people whenever some change."""
        from watchfiles import Change, awatch

        def wanted(change: Change, path: str) -> bool:
            return self._known(change, path) and any(one.fullmatch(path) for one in self._matches)

        watch = awatch(*self._roots, watch_filter=wanted, ignore_permission_denied=True)
        coming = asyncio.ensure_future(anext(watch))
        try:
            await asyncio.sleep(0)
            yield ()
            while True:
                names = sorted({path.removeprefix(f"{self._folder}{os.sep}") for _, path in await coming})
                coming = asyncio.ensure_future(anext(watch))
                yield (*names[:_FILES], *[f"{len(names) - _FILES} more"] * (len(names) > _FILES))
        finally:
            coming.cancel()
            await asyncio.wait((coming,))
            await watch.aclose()


def _expression(found: re.Match[str]) -> str:
    """A part of a glob as a regular expression."""
    wild = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}
    return wild.get(found[0]) or re.escape(found[0])
