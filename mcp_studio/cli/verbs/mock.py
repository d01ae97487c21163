"""`mock`: what its words mean; the server itself is `servers.mock`."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from mcp_studio.cli.options import Options
from mcp_studio.errors import UsageError
from mcp_studio.paths import Paths


class Mock(NamedTuple):
    """What is to be served, as `servers.mock.start.run` takes it."""

    recording: str
    sessions: Path
    server: str
    port: int | None
    seconds: float | None
    """For each answer; None takes as long as it was recorded."""
    quiet: bool


def wanted(options: Options) -> Mock:
    """Read the words.

    Raises:
        UsageError: one is missing, is too much, or has no usable value.
    """
    if len(options.words) != 1:
        what = f"`{options.words[1]}` is too much." if options.words else "Which recording?"
        raise UsageError(what, hint="mcp-studio mock SESSION|FILE")
    names = options.values("--server")
    if len(names) > 1:
        raise UsageError("A mock is of one server.", hint="Start one for each.")
    port = _port("".join(options.values("--http"))) if options.flag("--http") else None
    seconds, folder = _seconds(options.value("--latency")), Paths.default().state / "trace"
    return Mock(options.words[0], folder, names[0] if names else "", port, seconds, options.quiet)


def _port(text: str) -> int:
    if not text:
        return 0
    if not text.isdecimal() or int(text) > 65_535:
        raise UsageError(
            f"--http: `{text}` is no port.", hint="A number up to 65535; without it any free one is taken."
        )
    return int(text)


def _seconds(text: str) -> float | None:
    if text in ("", "none"):
        return 0.0
    if text == "recorded":
        return None
    try:
        milliseconds = float(text)
    except ValueError:
        milliseconds = -1.0
    if not 0 <= milliseconds <= 3_600_000:
        raise UsageError(f"--latency: `{text}` is none of: recorded, none, a number of milliseconds.")
    return milliseconds / 1000
