"""The sandbox of a local server: which paths it needs, and which tool of this machine enforces the restrictions.

Files are restricted by bubblewrap where it works, else by Landlock; the network by bubblewrap together with the files,
else by a system call filter (`landlock_program`). A server whose restrictions cannot be enforced is not started.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable, Iterator
from functools import cache
from typing import NamedTuple

from mcp_studio.config.model import ServerConfig
from mcp_studio.errors import Unreachable
from mcp_studio.paths import home

PROGRAM = os.path.join(os.path.dirname(os.path.abspath(__file__)), "landlock_program.py")
SYSTEM = (
    "/bin", "/home/linuxbrew/.linuxbrew", "/lib", "/lib32", "/lib64", "/libx32", "/nix/store", "/opt", "/sbin",
    "/sys/devices/system/cpu", "/usr",
    *(f"/etc/{name}" for name in (
        "alternatives", "ca-certificates", "ca-certificates.conf", "crypto-policies", "gai.conf", "group", "host.conf",
        "hosts", "ld.so.cache", "ld.so.conf", "ld.so.conf.d", "localtime", "mime.types", "nsswitch.conf", "os-release",
        "passwd", "pki/ca-trust", "pki/tls/cert.pem", "pki/tls/certs", "protocols", "resolv.conf", "services",
        "ssl/cert.pem", "ssl/certs", "ssl/openssl.cnf", "timezone",
    )),
)  # fmt: skip
"""The parts of the system that programs need; they contain no personal files and no keys."""
BUBBLEWRAP, FILTER = "bubblewrap", "a filter of system calls"
PROC = ("self", "cpuinfo", "filesystems", "loadavg", "meminfo", "stat", "sys", "uptime", "version")
"""The parts of /proc that a program sees under Landlock; bubblewrap gives it a /proc of its own."""
DEVICES = ("/dev/full", "/dev/null", "/dev/random", "/dev/urandom", "/dev/zero")
PARTS = ("bin", "lib", "lib64", "libexec", "pyvenv.cfg")
"""The parts of an installation prefix that programs consist of: the rest of `~/.local` is personal."""
TOO_WIDE = ("/", "/tmp", "/var/tmp")
"""Folders that are not opened to a program although its script is in them; nor are HOME and the folders above it."""
_INTERPRETER = r"(?:python|pypy|node|nodejs|deno|bun|ruby|perl|php|sh|bash)[\d.]*"
_SHIM = r"/\.?(pyenv|rbenv|nodenv|jenv|goenv|asdf|mise)/shims/([^/]+)\Z"
_LARGEST = 64
"""The most files of a program that are followed: links, and interpreters of scripts."""
_PATIENCE = 10.0
"""The most seconds that testing a tool may take."""


class _Plan(NamedTuple):
    """The paths that a server may use."""

    cwd: str
    home: str
    reads: tuple[str, ...]
    """The files and folders that the program consists of, to read and run."""
    paths: tuple[str, ...]
    """The paths that the entry names."""


def tool(config: ServerConfig) -> tuple[str, str]:
    """The tool that enforces the entry's restrictions; empty, with the reason, if none can."""
    if sys.platform != "linux":
        return "", "sandboxes need Linux"
    network, files = config.sandbox.network, bool(config.sandbox.files)
    without = _bubblewrap_fails(shutil.which("bwrap"), network) if files else ""
    if files and not without:
        return f"{BUBBLEWRAP} and {FILTER}" if network else BUBBLEWRAP, ""
    if not (reason := _kernel_fails(network, files)):
        return f"Landlock and {FILTER}" if files else FILTER, ""
    return "", ", and ".join(filter(None, (without, reason)))


def in_words(config: ServerConfig) -> str:
    """The restrictions of a server and the tool that enforces them, for people; empty if it has none."""
    if not (limits := _wanted(config)):
        return ""
    name, reason = tool(config)
    return f"{limits}, by {name}" if name else f"✗ {limits}: {reason}"


def _wanted(config: ServerConfig) -> str:
    box, words = config.sandbox, list[str]()
    if not box.network:
        words.append("no network")
    if box.files == "none":
        words.append("none of your files")
    elif box.files:
        what = "reads" if box.files == "read" else "reads and writes"
        words.append(f"{what} only {', '.join(map(os.path.abspath, box.paths))}")
    return ", ".join(words)


def argv(config: ServerConfig) -> tuple[str, ...]:
    """The command that starts a server inside its sandbox; its own command if it has no sandbox.

    Raises:
        Unreachable: this machine cannot enforce a restriction, or a path that the sandbox needs is missing.
    """
    command, box = (config.command, *config.args), config.sandbox
    if box.network and not box.files:
        return command
    name, reason = tool(config)
    if not name:
        walls = [*(() if box.network else ("block the network",)), *(("wall off files",) if box.files else ())]
        raise Unreachable(
            f"The sandbox of {config.name} cannot {' and '.join(walls)} on this machine: {reason}.",
            hint=f"{'Install bubblewrap, or remove' if box.files else 'Remove'} `sandbox` in the server's entry.",
        )
    if not box.files:
        return (*_kernel(network=False, files=False), *command)
    build = _bubblewrap if name.startswith(BUBBLEWRAP) else _landlock
    return (*build(config, _plan(config)), *command)


# ------------------------------------------------------------------ the tools


@cache
def _bubblewrap_fails(place: str | None, network: bool) -> str:
    """Why bubblewrap cannot be used here; empty if it works."""
    if not place:
        return "bubblewrap is not installed"
    words = ("--ro-bind", "/", "/", "--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp")
    reason = _fails([*_bubblewrap_start(place, network), *words, *_INSIDE, "true"])
    return f"bubblewrap does not work here ({reason})" if reason else ""


@cache
def _kernel_fails(network: bool, files: bool) -> str:
    """Why the kernel cannot enforce the restrictions; empty if it can."""
    return _fails([*_kernel(network=network, files=files, read=["/"], write=[], devices=[])])


def _fails(words: list[str]) -> str:
    """Run a command; return its last line of errors if it fails, else nothing."""
    try:
        process = subprocess.run(
            words, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, timeout=_PATIENCE
        )
    except (OSError, subprocess.TimeoutExpired) as problem:
        return str(problem)
    lines = process.stderr.decode("utf-8", "replace").strip().splitlines()
    reason = lines[-1] if lines else f"exit code {process.returncode}"
    return reason.removeprefix("The sandbox cannot be built: ").rstrip(".") if process.returncode else ""


_ENV = shutil.which("env") or "env"
_INSIDE = ("--", _ENV, "--default-signal=TERM")


def _kernel(**wanted: object) -> tuple[str, ...]:
    return (sys.executable, "-I", "-S", PROGRAM, json.dumps(wanted))


def _bubblewrap_start(place: str, network: bool) -> tuple[str, ...]:
    """The beginning of a bubblewrap command, which runs bubblewrap with SIGTERM ignored.

    When the guard stops a server, SIGTERM reaches all of its processes; bubblewrap's own processes have to survive it,
    because their end would kill the others at once. `_INSIDE` restores the signal for the server.

    A shared network also gives access to abstract Unix sockets, those of the screen and of session buses: the filter
    blocks them.
    """
    return (
        *(_kernel(network=True, files=False) if network else ()),
        _ENV, "--ignore-signal=TERM", place, "--die-with-parent",
        "--unshare-user", "--unshare-pid", "--unshare-ipc", "--cap-drop", "ALL",
        *(() if network else ("--unshare-net",)),
    )  # fmt: skip


def _bubblewrap(config: ServerConfig, plan: _Plan) -> Iterator[str]:
    mounts = {path: ("--ro-bind", path, path) for path in plan.reads}
    mounts |= {"/proc": ("--proc", "/proc"), "/dev": ("--dev", "/dev"), "/tmp": ("--tmpfs", "/tmp")}
    bind = "--bind" if config.sandbox.files == "readwrite" else "--ro-bind"
    mounts |= {path: (bind, path, path) for path in plan.paths}
    yield from _bubblewrap_start(shutil.which("bwrap") or "bwrap", config.sandbox.network)
    for path in sorted(mounts):  # a path inside another one is mounted after it
        yield from mounts[path]
    for folder in (plan.home, plan.cwd):  # empty folders, unless the entry names something in them
        yield from ("--dir", folder)
    if "/" not in mounts:
        yield from ("--remount-ro", "/")
    yield from ("--chdir", plan.cwd, *_INSIDE)
    if "PWD" not in (*config.env, *config.inherit_env):  # bubblewrap sets PWD
        yield "--unset=PWD"


def _landlock(config: ServerConfig, plan: _Plan) -> Iterator[str]:
    write = config.sandbox.files == "readwrite"
    yield from _kernel(
        network=config.sandbox.network,
        files=True,
        read=[*plan.reads, *(f"/proc/{name}" for name in PROC), *(() if write else plan.paths)],
        write=plan.paths if write else [],
        devices=DEVICES,
    )


# ------------------------------------------------------------------ what a program needs


def _plan(config: ServerConfig) -> _Plan:
    environ = {**os.environ, **config.env}
    cwd, search = os.path.abspath(config.cwd or "."), environ.get("PATH", os.defpath)
    # A command with a slash is relative to the working folder.
    command = os.path.join(cwd, config.command) if "/" in config.command else config.command
    program = shutil.which(command, path=search)
    if not program:
        raise Unreachable(f"There is no command {config.command} that the sandbox of {config.name} could start.")
    if shim := re.search(_SHIM, os.path.abspath(program)):
        raise Unreachable(
            f"{shim[2]} is a shim of {shim[1]}, which chooses the program only when it runs: too late for the sandbox "
            f"of {config.name}, which has to show it all that it is made of.",
            hint=f"Write that program as `command`: `{shim[1]} which {shim[2]}` prints where it is.",
        )
    paths = [os.path.abspath(path) for path in config.sandbox.paths]
    if missing := next((path for path in paths if not os.path.exists(path)), ""):
        raise Unreachable(
            f"The sandbox of {config.name} cannot be built: there is no {missing}.",
            hint="Correct `paths` of `sandbox` in the server's entry.",
        )
    home_dir, program = str(home(environ)), os.path.abspath(program)
    reads = [*SYSTEM, *_program_paths(program, search)]
    if script := _script(config, program, cwd):
        reads += [place for path in {script, os.path.realpath(script)} for place in _project(path, home_dir)]
    inside = _outermost(path for one in paths for path in (one, os.path.realpath(one)))
    reads = [path for path in _outermost(reads) if os.path.exists(path) and not _within(path, inside)]
    return _Plan(cwd, home_dir, tuple(reads), tuple(inside))


def _outermost(paths: Iterable[str]) -> list[str]:
    """The paths that are not inside another one of them."""
    roots: list[str] = []
    for path in sorted(set(paths), key=len):
        if not _within(path, roots):
            roots.append(path)
    return roots


def _within(path: str, folders: Iterable[str]) -> bool:
    return any(path == folder or path.startswith(folder.rstrip("/") + "/") for folder in folders)


def _program_paths(program: str, search: str) -> Iterator[str]:
    """The paths that a program consists of, found through links, interpreters and virtual environments."""
    queue, visited = [program], set[str]()
    while queue and len(visited) < _LARGEST:
        path = queue.pop()
        if path in visited:
            continue
        visited.add(path)
        yield from _companions(path)
        folder = os.path.realpath(os.path.dirname(path))
        if os.path.islink(path):
            queue.append(os.path.normpath(os.path.join(folder, os.readlink(path))))
        elif interpreter := _interpreter(path, search):
            queue.append(interpreter)
        if base := _base(os.path.join(os.path.dirname(folder), "pyvenv.cfg")):
            queue += [os.path.join(base, "python3"), os.path.join(os.path.realpath(base), "python3")]


def _companions(path: str) -> list[str]:
    """The paths that belong to an executable: its `node_modules`, or program folders of its prefix, or itself."""
    before, found, _ = path.partition("/node_modules/")
    if found:
        return [before + "/node_modules"]
    folder = os.path.dirname(path)
    if os.path.basename(folder) in ("bin", "sbin"):
        return [path, *(os.path.join(os.path.dirname(folder), part) for part in PARTS)]
    return [path]


def _interpreter(path: str, search: str) -> str:
    """The interpreter that a script's first line names."""
    try:
        with open(path, "rb") as file:
            line = file.read(512).partition(b"\n")[0]
    except OSError:
        return ""
    words = os.fsdecode(line[2:]).split() if line.startswith(b"#!") else []
    if words and os.path.basename(words[0]) == "env":
        words = [word for word in words[1:] if not word.startswith("-") and "=" not in word]
        words = [program for word in words[:1] if (program := shutil.which(word, path=search))]
    return words[0] if words else ""


def _base(file: str) -> str:
    """The folder of the Python that a virtual environment is based on; empty if there is none."""
    try:
        with open(file, encoding="utf-8", errors="replace") as lines:
            pairs = (line.partition("=") for line in lines.read(65_536).splitlines())
            return next((value.strip() for name, _, value in pairs if name.strip() == "home"), "")
    except OSError:
        return ""


def _script(config: ServerConfig, program: str, cwd: str) -> str:
    """The script file that an interpreter runs; empty if it runs something else."""
    names = (os.path.basename(path) for path in (program, os.path.realpath(program)))
    if not any(re.fullmatch(_INTERPRETER, name) for name in names):
        return ""
    word = next((word for word in config.args if not word.startswith("-")), "")
    file = os.path.join(cwd, word)
    return os.path.abspath(file) if word and os.path.isfile(file) else ""


def _project(script: str, home_dir: str) -> list[str]:
    """The folder of a script's package, else of the script; the script alone if the folder would expose too much."""
    if "/node_modules/" in script:
        return _companions(script)
    folder = os.path.dirname(script)
    above = [folder, os.path.dirname(folder), os.path.dirname(os.path.dirname(folder))]
    package = next((one for one in above if os.path.isfile(os.path.join(one, "package.json"))), folder)
    return [script] if package in TOO_WIDE or _within(home_dir, (package,)) else [package]
