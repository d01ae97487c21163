"""The command line from its words to its exit code. The door: the verb that is run is imported here, and so is the
studio, after the server of `-- COMMAND` was started.
"""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any, NoReturn

from mcp_studio.cli.options import Options, help_text, parse, show
from mcp_studio.errors import StudioError, UsageError

if TYPE_CHECKING:
    from mcp_studio.cli.output import Output

INTERRUPTED = 130
_MODULES = {"list": "listing", "read": "call", "get": "call", "complete": "call"}
"""Verbs whose module has another name."""


def main() -> int:
    """Run the command line of this process. Does not return after a verb has run."""
    words = sys.argv[1:]
    if (text := help_text(words)) is not None:
        return show(text)
    _leave(run(words))


def run(argv: Sequence[str]) -> int:
    """Run a command line; returns its exit code."""
    # Collecting garbage while thousands of functions and classes are made finds none and costs a tenth of the start.
    gc.disable()
    wrong: StudioError | None = None
    try:
        options = parse(argv)
        if options.verb == "completion":
            return _completion(options)
    except StudioError as error:
        ours = argv[: argv.index("--")] if "--" in argv else argv
        options, wrong = Options("", given={"--json": []} if "--json" in ours else {}), error
    from mcp_studio.cli.output import Output
    from mcp_studio.cli.terminal import restore

    out = Output(options)
    if wrong is not None:
        return out.fail(wrong)
    try:
        return out.attempt(lambda: _run(options, out))
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        # Whoever read our output has had enough; nothing more can be said there.
        sys.stdout = open(os.devnull, "w")
        return 1
    finally:
        gc.enable()
        restore()


def _run(options: Options, out: Output) -> int:
    from mcp_studio.cli.terminal import ask
    from mcp_studio.vault.keyring import ask_with

    ask_with(ask)
    if options.verb in ("", "demo"):
        return _studio(options)
    if options.verb == "mock":
        from mcp_studio.cli.verbs.mock import wanted
        from mcp_studio.servers.mock.start import run as serve

        return serve(*wanted(options))
    verb: Any = import_module(f"mcp_studio.cli.verbs.{_MODULES.get(options.verb, options.verb)}")
    return verb.run(options, out, _keys) if options.verb == "config" else verb.run(options, out)


def _studio(options: Options) -> int:
    """The studio itself."""
    from mcp_studio.cli import targets
    from mcp_studio.paths import Paths

    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise UsageError("The studio needs a terminal.", hint="For scripts there are verbs: mcp-studio --help")
    paths = Paths.default()
    own = targets.demo(options) if options.verb == "demo" else targets.target(options)
    config = targets.configuration(options, paths, own)
    from mcp_studio.tui.run import run as open_studio

    return open_studio(config, paths)


def _keys(changed: Mapping[str, str]) -> list[tuple[str, str, str, str]]:
    """The keys of the studio, with the person's own: id, keys, what they do, where."""
    from mcp_studio.tui.actions import ACTIONS, remap

    own, _ = remap(changed)
    return [(action.id, own.get(action.id, action.keys), action.title, action.scope) for action in ACTIONS]


def _completion(options: Options) -> int:
    from mcp_studio.cli.completion import answer

    return show(answer(options, _servers))


def _servers() -> Iterable[str]:
    from pathlib import Path

    from mcp_studio.config.load import load
    from mcp_studio.paths import Paths

    return load(Paths.default(), Path.cwd(), secrets="${{keyring:{}}}".format).servers


def _leave(code: int) -> NoReturn:
    """End the process at once: all is closed by now, and tearing the interpreter down takes as long as a small verb."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError):
            code = code or 1
    os._exit(code)
