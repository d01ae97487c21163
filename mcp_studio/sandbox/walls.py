"""The walls around a local server: what it needs, what it may use, which tool of this machine holds it to that.

Files are walled off by bubblewrap where that works, else by Landlock; the network by bubblewrap together with files,
else by a filter of system calls (`landlock_program`). What cannot be walled off is a refusal to start.
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
"""What programs need of the system; nothing of it is a person's, and no keys are in it."""
BUBBLEWRAP, FILTER = "bubblewrap", "a filter of system calls"
PROC = ("self", "cpuinfo", "filesystems", "loadavg", "meminfo", "stat", "sys", "uptime", "version")
"""What of /proc a program sees under Landlock; under bubblewrap it has one of its own."""
DEVICES = ("/dev/full", "/dev/null", "/dev/random", "/dev/urandom", "/dev/zero")
PARTS = ("bin", "lib", "lib64", "libexec", "pyvenv.cfg")
"""What of a folder with a `bin` in it programs are made of: the rest of `~/.local` is a person's."""
TOO_WIDE = ("/", "/tmp", "/var/tmp")
"""Folders that are not shown to a program because a script lies in them; those above HOME are not either."""
_INTERPRETER = re.compile(r"(?:python|pypy|node|nodejs|deno|bun|ruby|perl|php|sh|bash)[\d.]*")
_SHIM = re.compile(r"/\.?(pyenv|rbenv|nodenv|jenv|goenv|asdf|mise)/shims/([^/]+)\Z")
_LARGEST = 64
"""Files of a program that are looked at: links, interpreters of scripts."""
_PATIENCE = 10.0
"""Seconds that trying a tool may take."""


class _Plan(NamedTuple):
    """What a server may use."""

    cwd: str
    home: str
    reads: tuple[str, ...]
    """What it is made of, to be read and run."""
    named: tuple[str, ...]
    """What its entry names."""


def tool(config: ServerConfig) -> tuple[str, str]:
    """What holds this server to the walls that its entry wants; empty, and the reason, where nothing can."""
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
    """Which walls stand around a server, and what builds them; empty where it has none."""
    if not (wanted := _wanted(config)):
        return ""
    found, reason = tool(config)
    return f"{wanted}, by {found}" if found else f"✗ {wanted}: {reason}"


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
    """The command that starts a server inside its walls; its own command where it has none.

    Raises:
        Unreachable: a wall cannot be built on this machine, or something that has to be inside is not there.
    """
    command, box = (config.command, *config.args), config.sandbox
    if box.network and not box.files:
        return command
    found, reason = tool(config)
    if not found:
        walls = [*(() if box.network else ("block the network",)), *(("wall off files",) if box.files else ())]
        raise Unreachable(
            f"The sandbox of {config.name} cannot {' and '.join(walls)} on this machine: {reason}.",
            hint=f"{'Install bubblewrap, or remove' if box.files else 'Remove'} `sandbox` in the server's entry.",
        )
    if not box.files:
        return (*_kernel(network=False, files=False), *command)
    build = _bubblewrap if found.startswith(BUBBLEWRAP) else _landlock
    return (*build(config, _plan(config)), *command)


# ------------------------------------------------------------------ the tools


@cache
def _bubblewrap_fails(place: str | None, network: bool) -> str:
    """Why bubblewrap is not to be had here; empty where it works."""
    if not place:
        return "bubblewrap is not installed"
    words = ("--ro-bind", "/", "/", "--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp")
    reason = _fails([*_bubblewrap_start(place, network), *words, *_INSIDE, "true"])
    return f"bubblewrap does not work here ({reason})" if reason else ""


@cache
def _kernel_fails(network: bool, files: bool) -> str:
    """Why the kernel's own means are not enough here; empty where they are."""
    return _fails([*_kernel(network=network, files=files, read=["/"], write=[], devices=[])])


def _fails(words: list[str]) -> str:
    """Run something; empty where that worked, else what it said."""
    try:
        done = subprocess.run(
            words, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, timeout=_PATIENCE
        )
    except (OSError, subprocess.TimeoutExpired) as problem:
        return str(problem)
    said = done.stderr.decode("utf-8", "replace").strip().splitlines()
    reason = said[-1] if said else f"exit code {done.returncode}"
    return reason.removeprefix("The sandbox cannot be built: ").rstrip(".") if done.returncode else ""


_ENV = shutil.which("env") or "env"
_INSIDE = ("--", _ENV, "--default-signal=TERM")


def _kernel(**wanted: object) -> tuple[str, ...]:
    return (sys.executable, "-I", "-S", PROGRAM, json.dumps(wanted))


def _bubblewrap_start(place: str, network: bool) -> tuple[str, ...]:
    """When the guard ends a server, SIGTERM reaches all of its processes; bubblewrap's own have to outlive it, as
    their end is everybody's, at once. Inside, the signal is what it was.

    With the network comes the way to abstract Unix sockets, of the screen and of session buses: the filter closes it.
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
    mounts |= {path: (bind, path, path) for path in plan.named}
    yield from _bubblewrap_start(shutil.which("bwrap") or "bwrap", config.sandbox.network)
    for path in sorted(mounts):  # what lies in another comes after it
        yield from mounts[path]
    for folder in (plan.home, plan.cwd):  # empty, where nothing in it is named
        yield from ("--dir", folder)
    if "/" not in mounts:
        yield from ("--remount-ro", "/")
    yield from ("--chdir", plan.cwd, *_INSIDE)
    if "PWD" not in (*config.env, *config.inherit_env):  # which bubblewrap sets
        yield "--unset=PWD"


def _landlock(config: ServerConfig, plan: _Plan) -> Iterator[str]:
    write = config.sandbox.files == "readwrite"
    yield from _kernel(
        network=config.sandbox.network,
        files=True,
        read=[*plan.reads, *(f"/proc/{name}" for name in PROC), *(() if write else plan.named)],
        write=plan.named if write else [],
        devices=DEVICES,
    )


# ------------------------------------------------------------------ what a program needs


def _plan(config: ServerConfig) -> _Plan:
    environ = {**os.environ, **config.env}
    cwd, search = os.path.abspath(config.cwd or "."), environ.get("PATH", os.defpath)
    # A command with a slash in it is looked for from the working folder.
    command = os.path.join(cwd, config.command) if "/" in config.command else config.command
    program = shutil.which(command, path=search)
    if not program:
        raise Unreachable(f"There is no command {config.command} that the sandbox of {config.name} could start.")
    if shim := _SHIM.search(os.path.abspath(program)):
        raise Unreachable(
            f"{shim[2]} is a shim of {shim[1]}, which chooses the program only when it runs: too late for the sandbox "
            f"of {config.name}, which has to show it all that it is made of.",
            hint=f"Write that program as `command`: `{shim[1]} which {shim[2]}` prints where it is.",
        )
    named = [os.path.abspath(path) for path in config.sandbox.paths]
    if missing := next((path for path in named if not os.path.exists(path)), ""):
        raise Unreachable(
            f"The sandbox of {config.name} cannot be built: there is no {missing}.",
            hint="Correct `paths` of `sandbox` in the server's entry.",
        )
    own, program = str(home(environ)), os.path.abspath(program)
    reads = [*SYSTEM, *_needs(program, search)]
    if script := _script(config, program, cwd):
        reads += [place for path in {script, os.path.realpath(script)} for place in _project(path, own)]
    inside = _outermost(path for one in named for path in (one, os.path.realpath(one)))
    reads = [path for path in _outermost(reads) if os.path.exists(path) and not _within(path, inside)]
    return _Plan(cwd, own, tuple(reads), tuple(inside))


def _outermost(paths: Iterable[str]) -> list[str]:
    """Without those that lie in others of them."""
    found: list[str] = []
    for path in sorted(set(paths), key=len):
        if not _within(path, found):
            found.append(path)
    return found


def _within(path: str, folders: Iterable[str]) -> bool:
    return any(path == folder or path.startswith(folder.rstrip("/") + "/") for folder in folders)


def _needs(program: str, search: str) -> Iterator[str]:
    """The files and folders that a program is made of: through links, interpreters and virtual environments."""
    waiting, seen = [program], set[str]()
    while waiting and len(seen) < _LARGEST:
        path = waiting.pop()
        if path in seen:
            continue
        seen.add(path)
        yield from _around(path)
        folder = os.path.realpath(os.path.dirname(path))
        if os.path.islink(path):
            waiting.append(os.path.normpath(os.path.join(folder, os.readlink(path))))
        elif interpreter := _interpreter(path, search):
            waiting.append(interpreter)
        if base := _base(os.path.join(os.path.dirname(folder), "pyvenv.cfg")):
            waiting += [os.path.join(base, "python3"), os.path.join(os.path.realpath(base), "python3")]


def _around(path: str) -> list[str]:
    """What belongs to a file that is run: its `node_modules`, what its prefix has for programs, else itself alone."""
    before, found, _ = path.partition("/node_modules/")
    if found:
        return [before + "/node_modules"]
    folder = os.path.dirname(path)
    if os.path.basename(folder) in ("bin", "sbin"):
        return [path, *(os.path.join(os.path.dirname(folder), part) for part in PARTS)]
    return [path]


def _interpreter(path: str, search: str) -> str:
    """The program that the first line of a script names."""
    try:
        with open(path, "rb") as file:
            line = file.read(512).partition(b"\n")[0]
    except OSError:
        return ""
    words = os.fsdecode(line[2:]).split() if line.startswith(b"#!") else []
    if words and os.path.basename(words[0]) == "env":
        words = [word for word in words[1:] if not word.startswith("-") and "=" not in word]
        words = [found for word in words[:1] if (found := shutil.which(word, path=search))]
    return words[0] if words else ""


def _base(file: str) -> str:
    """The folder of the Python that a virtual environment was made with; empty where there is none."""
    try:
        with open(file, encoding="utf-8", errors="replace") as lines:
            pairs = (line.partition("=") for line in lines.read(65_536).splitlines())
            return next((value.strip() for name, _, value in pairs if name.strip() == "home"), "")
    except OSError:
        return ""


def _script(config: ServerConfig, program: str, cwd: str) -> str:
    """The file that an interpreter is told to run; empty where it is none, or gets something else."""
    names = (os.path.basename(path) for path in (program, os.path.realpath(program)))
    if not any(_INTERPRETER.fullmatch(name) for name in names):
        return ""
    word = next((word for word in config.args if not word.startswith("-")), "")
    file = os.path.join(cwd, word)
    return os.path.abspath(file) if word and os.path.isfile(file) else ""


def _project(script: str, own: str) -> list[str]:
    """A script's package with all of its modules, else its folder; itself alone where that would show too much."""
    if "/node_modules/" in script:
        return _around(script)
    folder = os.path.dirname(script)
    above = [folder, os.path.dirname(folder), os.path.dirname(os.path.dirname(folder))]
    package = next((one for one in above if os.path.isfile(os.path.join(one, "package.json"))), folder)
    return [script] if package in TOO_WIDE or _within(own, (package,)) else [package]
