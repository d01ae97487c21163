"""In which language a server is likely written, and what in it prints to standard output by mistake."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from typing import NamedTuple


class Language(NamedTuple):
    """What is usual in one language."""

    name: str
    cause: str
    """What prints to standard output."""
    remedy: str
    """What prints to standard error instead."""
    logging: str = ""
    """How its log messages get there, where that is another way."""


PYTHON = Language(
    "Python", "a print() in its code, or in a library that it uses", "print(…, file=sys.stderr)",
    "a logging handler on sys.stdout: logging.basicConfig(stream=sys.stdout), or a console library",
)  # fmt: skip
NODE = Language(
    "Node.js", "a console.log() or console.info() in its code, or in a package that it uses", "console.error()",
    "a logger whose transport is the console or process.stdout (pino and winston write there by default)",
)  # fmt: skip
GO = Language(
    "Go", "a fmt.Println or fmt.Printf in its code, or in a module that it uses", "log.Println",
    "a logger that was given os.Stdout: slog.NewTextHandler(os.Stdout, …), log.SetOutput(os.Stdout)",
)  # fmt: skip
RUST = Language(
    "Rust", "a println! or print! in its code, or in a crate that it uses", "eprintln!",
    "tracing_subscriber::fmt(), which writes to standard output without with_writer(std::io::stderr)",
)  # fmt: skip
JAVA = Language(
    "Java", "a System.out.println", "System.err.println",
    "a console appender of Logback or Log4j, which writes to System.out unless its target is System.err",
)  # fmt: skip
UNKNOWN = Language("", "something that it prints, itself or by a library that it uses", "standard error")

_PROGRAMS: dict[str, Language] = {
    **dict.fromkeys(
        ("python", "python3", "pypy", "pypy3", "uv", "uvx", "pipx", "poetry", "hatch", "pdm", "conda"), PYTHON
    ),
    **dict.fromkeys("node npx npm yarn pnpm bun bunx deno tsx ts-node".split(), NODE),
    **dict.fromkeys(("go",), GO),
    **dict.fromkeys(("cargo",), RUST),
    **dict.fromkeys(("java", "jbang", "kotlin", "scala", "mvn", "gradle"), JAVA),
}
_ENDINGS: dict[str, Language] = {
    ".py": PYTHON, ".pyz": PYTHON, ".js": NODE, ".mjs": NODE, ".cjs": NODE, ".ts": NODE, ".go": GO, ".rs": RUST,
    ".jar": JAVA,
}  # fmt: skip
_LAUNCHERS = {"npx", "npm", "yarn", "pnpm", "bunx", "uvx", "uv", "pipx", "docker", "podman", "poetry", "cargo", "mvn",
              "gradle", "dotnet", "go"}  # fmt: skip
"""Programs that may print something of their own before the server runs."""
_WRAPPERS = {"env", "sudo", "nice", "time", "timeout", "stdbuf", "xvfb-run", "nohup", "exec"}
_VERSIONED = re.compile(r"(python|pypy|node)[\d.]*$")


def program(argv: Sequence[str]) -> str:
    """The name of the program that is run, without its path, version and what only wraps it."""
    words = [word for word in argv if word]
    while words and _name(words[0]) in _WRAPPERS:
        words.pop(0)
        while words and (words[0].startswith("-") or "=" in words[0] or words[0].isdigit()):
            words.pop(0)
    return _name(words[0]) if words else ""


def language_of(argv: Sequence[str], cwd: str = "") -> Language:
    """The language of the server that a command starts; `UNKNOWN` where nothing tells."""
    name = program(argv)
    inner = _script(argv[1:]) if name in ("sh", "bash", "zsh", "dash", "cmd") else None
    if inner is not None:
        return inner
    if name in _PROGRAMS:
        return _PROGRAMS[name]
    for word in argv:
        ending = os.path.splitext(word)[1].lower()
        if ending in _ENDINGS:
            return _ENDINGS[ending]
    return _by_first_line(argv[0] if argv else "", cwd)


def launcher_of(argv: Sequence[str]) -> str:
    """The program that starts the server and may print before it does; empty where there is none."""
    name = program(argv)
    return name if name in _LAUNCHERS else ""


def _script(words: Sequence[str]) -> Language | None:
    """What a shell is told to run, where that is a line: `sh -c "npx server"`."""
    if len(words) > 1 and words[0] in ("-c", "-lc", "-ic", "/c", "/C"):
        found = language_of(words[1].split())
        return None if found is UNKNOWN else found
    return None


def _by_first_line(command: str, cwd: str) -> Language:
    path = os.path.join(cwd, command) if os.sep in command else ""
    if not path:
        return UNKNOWN
    try:
        with open(path, "rb") as file:
            begin = file.read(200)
    except OSError:
        return UNKNOWN
    if not begin.startswith(b"#!"):
        return UNKNOWN
    words = begin[2:].split(b"\n", 1)[0].decode("utf-8", "replace").split()
    return _PROGRAMS.get(program(words), UNKNOWN)


def _name(word: str) -> str:
    name = os.path.basename(word.replace("\\", "/")).lower().removesuffix(".exe").removesuffix(".cmd")
    found = _VERSIONED.match(name)
    return found[1] if found and name not in _PROGRAMS else name
