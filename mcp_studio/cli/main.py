"""Runs a command line, from its words to its exit code. The verbs, the studio and the mock server are imported only
here, after the server of `-- COMMAND` has been started.
"""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from mcp_studio.cli import verbs
from mcp_studio.cli.options import Options, completion, help_text, parse, show
from mcp_studio.errors import UsageError

if TYPE_CHECKING:
    from mcp_studio.cli.terminal import Output
    from mcp_studio.config.model import Settings


def main() -> int:
    """Run the command line of this process; returns its exit code."""
    words = sys.argv[1:]
    return run(words) if (text := help_text(words)) is None else show(text)


def run(argv: Sequence[str]) -> int:
    """Run a command line; returns its exit code."""
    # While thousands of functions and classes are created there is no garbage; collecting costs a tenth of the start.
    gc.disable()
    from mcp_studio.cli.terminal import INTERRUPTED, Output, ask, restore
    from mcp_studio.vault.keyring import ask_with

    ask_with(ask)
    ours = argv[: argv.index("--")] if "--" in argv else argv
    out = Output(Options("", given={"--json": []} if "--json" in ours else {}))
    try:
        return out.attempt(lambda: _run(argv, out))
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        # Whoever read our output has stopped; nothing more can be printed.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    finally:
        gc.enable()
        restore()


def _run(argv: Sequence[str], out: Output) -> int:
    out.take(options := parse(argv))
    if options.verb == "completion":
        return show(completion(options, _server_names))
    own = {"": _studio, "demo": _studio, "mock": _mock, "serve-files": _files, "serve-db": _databases}
    if program := own.get(options.verb):
        return program(options)
    if options.command is not None and options.verb != "config":  # which keeps the command, and starts nothing
        from mcp_studio.transport.guard import guard

        guard.start()
    run_verb = verbs.runner(options.verb)
    gc.freeze()
    gc.enable()
    front_end = {"config": _keys, "serve": _serve, "tap": _tap}.get(options.verb)
    return run_verb(out, front_end) if front_end else run_verb(out)


def _studio(options: Options) -> int:
    """Open the studio itself."""
    from mcp_studio.cli import targets
    from mcp_studio.paths import Paths

    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        other = "As a server it is python -m mcp_studio.servers.demo" if options.verb else "For scripts there are verbs"
        raise UsageError("The studio needs a terminal.", hint=f"{other}: mcp-studio --help")
    paths = Paths.default()
    own = targets.demo(options) if options.verb == "demo" else targets.target(options)
    config = targets.configuration(options, paths, own)
    from mcp_studio.tui.run import run as open_studio

    return open_studio(config, paths)


def _keys(settings: Settings) -> tuple[list[tuple[str, str, str, str]], Sequence[str]]:
    """List the studio's keys, including the person's changes: id, keys, what they do, where.

    The second list has a sentence for each setting of keys or theme that the studio does not know.
    """
    from mcp_studio.paths import Paths
    from mcp_studio.tui.actions import ACTIONS, remap

    own, problems = remap(settings.keys)
    if settings.theme != "studio-dark":  # checking another one imports Textual
        from mcp_studio.tui.themes import missing

        problems = (*problems, *filter(None, (missing(settings.theme, Paths.default().config / "themes"),)))
    return [(one.id, own.get(one.id, one.keys), one.title, one.scope) for one in ACTIONS], problems


def _serve(*arguments: Any) -> int:
    """Start the gateway."""
    from mcp_studio.gateway.service import start

    return start(*arguments)


def _tap(*arguments: Any) -> Any:
    """Start the tap for a server at a URL, which serves HTTP as the gateway does."""
    from mcp_studio.gateway.tap import start

    return start(*arguments)


def _mock(options: Options) -> int:
    """Serve a recording in place of the server that was recorded."""
    from mcp_studio.cli.targets import server_option
    from mcp_studio.paths import Paths
    from mcp_studio.servers.mock.server import run as serve

    if len(options.words) != 1:
        raise UsageError("Which recording?", hint="mcp-studio mock SESSION|FILE")
    traces, server, port = Paths.default().state / "trace", server_option(options), _port(options)
    fixed, latency = {"recorded": None, "none": 0.0}, options.value("--latency")
    seconds = fixed[latency] if latency in fixed else (options.count("--latency", 3_600_000, least=0) or 0) / 1000
    return serve(options.words[0], traces, server, port, seconds, options.flag("--quiet"))


def _files(options: Options) -> int:
    """Serve folders."""
    from mcp_studio.servers.files.server import start

    roots = [*options.words, *options.values("--root")]
    return start(roots, options.flag("--read-only"), options.value("--names"), _port(options))


def _databases(options: Options) -> int:
    """Serve databases."""
    from mcp_studio.servers.database.server import start

    return start(options.values("--connect"), options.values("--allow-write"), options.value("--names"), _port(options))


def _port(options: Options) -> int | None:
    """Return the port to listen on, 0 for any free one; None for standard input and output."""
    return (options.count("--http", 65_535, least=0) or 0) if options.flag("--http") else None


def _server_names() -> Iterable[str]:
    from pathlib import Path

    from mcp_studio.config.load import load
    from mcp_studio.paths import Paths

    return load(Paths.default(), Path.cwd(), secrets="${{keyring:{}}}".format).servers
