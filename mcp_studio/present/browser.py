"""Opens pages in the person's browser."""

from __future__ import annotations

import asyncio
import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Mapping

from mcp_studio.safetext import safe

_OPENERS = (["xdg-open"], ["gio", "open"], ["wslview"], ["x-www-browser"], ["firefox"], ["chromium"])
_PATIENCE = 1.0


NONE = "none"
"""The setting of a machine without a browser (`[auth] browser`)."""


async def open_page(url: str, browser: str = "") -> bool:
    """Open an address that `urls.judge` allows in the browser; False if there is none.

    Args:
        browser: the command that opens it (`Settings.browser`); empty for the desktop's.
    """
    if sys.platform == "win32" and not browser:
        os.startfile(url)
        return True
    argv = command(url, os.environ, browser)
    return argv is not None and await asyncio.to_thread(_start, argv)


def is_there(environ: Mapping[str, str] = os.environ, browser: str = "") -> bool:
    """Whether a page can be opened from here; over SSH only if the person has named a browser."""
    chosen = browser or environ.get("BROWSER")
    if sys.platform == "win32" and not chosen:
        return True
    remote = environ.get("SSH_CONNECTION") or environ.get("SSH_TTY")
    return (bool(chosen) or not remote) and command("https://localhost/", environ, browser) is not None


def ssh_line(redirect: str, environ: Mapping[str, str]) -> str:
    """The SSH command that lets the browser on the person's machine reach this one; empty without an SSH session."""
    port = redirect.partition("://")[2].partition("/")[0].rpartition(":")[2]
    words = environ.get("SSH_CONNECTION", "").split()
    if not (words or environ.get("SSH_TTY")) or not port.isdecimal():
        return ""
    host, door = (words[2], words[3]) if len(words) == 4 else ("HOST", "22")
    user = environ.get("USER") or environ.get("LOGNAME") or ""
    at = f"{user}@" if user.replace("-", "").replace("_", "").replace(".", "").isalnum() else ""
    other = f" -p {door}" if door != "22" and door.isdecimal() else ""
    return f"ssh -N -L {port}:127.0.0.1:{port}{other} {at}{safe(host, 80)}"


def command(url: str, environ: Mapping[str, str], browser: str = "") -> list[str] | None:
    """The command that opens an address; None if no browser has a window of its own.

    The configured browser goes first, then `BROWSER`. A browser that draws on this terminal would overwrite the studio.
    """
    if browser == NONE:
        return None
    for line in filter(None, (browser, *environ.get("BROWSER", "").split(os.pathsep))):
        try:
            words = shlex.split(line.strip().removesuffix("&"))
        except ValueError:
            continue
        if words and shutil.which(words[0]):
            argv = [word.replace("%s", url) for word in words]
            return argv if argv != words else [*words, url]
    if sys.platform == "darwin":
        return ["open", url]
    if environ.get("DISPLAY") or environ.get("WAYLAND_DISPLAY") or environ.get("WSL_DISTRO_NAME"):
        return next(([*words, url] for words in _OPENERS if shutil.which(words[0])), None)
    return None


def _start(argv: list[str]) -> bool:
    """Start a browser without our terminal and without our own variables, such as a passphrase.

    A browser that fails at once has not opened the page.
    """
    environ = {name: value for name, value in os.environ.items() if not name.startswith("MCP_STUDIO_")}
    quiet = subprocess.DEVNULL
    try:
        process = subprocess.Popen(argv, stdin=quiet, stdout=quiet, stderr=quiet, start_new_session=True, env=environ)
        return process.wait(_PATIENCE) == 0
    except subprocess.TimeoutExpired:
        return True
    except OSError:
        return False
