"""Walls by the kernel alone: restricts itself by Landlock and a filter of system calls, then becomes the server.

It is a program of its own, started by `sandbox.walls` and never imported by the studio:

    landlock_program.py '{"network": false, "files": true, "read": […], "write": […], "devices": […]}' COMMAND ARGS…

What it cannot restrict it refuses to start: it says why on standard error and exits with 126. Without a command it only
tries. Landlock cannot see who connects to a socket, so the filter refuses to make any: those of the network where
that is blocked, and Unix sockets with them, for whoever listens there (the session bus, docker) would do anything for
the program, outside of the walls. Pairs of connected sockets stay, as programs talk to their children by them.
"""

from __future__ import annotations

import ctypes
import errno
import json
import os
import signal
import stat
import struct
import sys
from collections.abc import Iterable

LIBC = ctypes.CDLL(None, use_errno=True)
CREATE_RULESET, ADD_RULE, RESTRICT_SELF = 444, 445, 446
"""System calls of Landlock (linux/landlock.h); their numbers are the same on all architectures."""
OLDEST = 3
"""The first version that guards files against being cut short (`truncate`): Linux 6.2."""
PR_SET_SECCOMP = 22
PR_SET_NO_NEW_PRIVS = 38
SECCOMP_MODE_FILTER = 2

EXECUTE, WRITE_FILE, READ_FILE, READ_DIR = 1 << 0, 1 << 1, 1 << 2, 1 << 3
MAKE_CHAR, MAKE_BLOCK, TRUNCATE, IOCTL_DEV = 1 << 6, 1 << 11, 1 << 14, 1 << 15
READ = EXECUTE | READ_FILE | READ_DIR
WRITE = ((1 << 15) - 1) & ~(MAKE_CHAR | MAKE_BLOCK)
OF_FILES = EXECUTE | WRITE_FILE | READ_FILE | TRUNCATE
"""What can be allowed of a path that is no folder."""
SCOPES = 3
"""No abstract Unix sockets and no signals to whoever is outside (version 6)."""

ARCHITECTURES = {"x86_64": (0xC000003E, 41, 53), "aarch64": (0xC00000B7, 198, 199)}
"""Name in filters (linux/audit.h), and the numbers of `socket` and `socketpair`."""
IO_URING_SETUP = 425
"""It makes sockets without the system call that is filtered."""
X32 = 0x40000000
"""From here on: the same calls by other numbers, on x86_64."""
AF_UNIX, SOCK_STREAM, SOCK_SEQPACKET = 1, 1, 5
LOAD, AND, EQUAL, AT_LEAST, RETURN = 0x20, 0x54, 0x15, 0x35, 0x06
NUMBER, ARCHITECTURE, FIRST, SECOND = 0, 4, 16, 24
"""Where `struct seccomp_data` has them: of the arguments the lower half, on these architectures."""
ALLOW, DENY, KILL = 0x7FFF0000, 0x00050000 | errno.EACCES, 0x80000000


class Refusal(Exception):
    """A wall that cannot be built here; the message says why."""


def checked(result: int, what: str) -> int:
    """The result of a call to the kernel; a refusal where that has failed."""
    if result < 0:
        raise Refusal(f"{what}: {os.strerror(ctypes.get_errno())}")
    return result


def restrict_files(read: Iterable[str], write: Iterable[str], devices: Iterable[str]) -> None:
    """Allow these paths, and what is below them, and nothing else."""
    version = LIBC.syscall(CREATE_RULESET, None, ctypes.c_size_t(0), 1)
    if version < 0:
        raise Refusal("the kernel has no Landlock")
    if version < OLDEST:
        raise Refusal(f"the kernel's Landlock is too old (ABI {version}, {OLDEST} is needed)")
    handled = WRITE | MAKE_CHAR | MAKE_BLOCK | (IOCTL_DEV if version >= 5 else 0)
    words = (handled, 0, SCOPES)[: 1 if version < 4 else 2 if version < 6 else 3]
    attributes = struct.pack(f"={len(words)}Q", *words)
    rules = checked(LIBC.syscall(CREATE_RULESET, attributes, ctypes.c_size_t(len(attributes)), 0), "Landlock")
    for paths, rights in ((read, READ), (write, WRITE), (devices, READ_FILE | WRITE_FILE)):
        for path in paths:
            allow(rules, path, rights)
    checked(LIBC.syscall(RESTRICT_SELF, rules, 0), "Landlock")
    os.close(rules)


def allow(rules: int, path: str, rights: int) -> None:
    """Add a path to the rules; one that is not there needs none."""
    try:
        place = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:
        return
    if not stat.S_ISDIR(os.fstat(place).st_mode):
        rights &= OF_FILES
    # The kernel's structure has no padding at its end.
    checked(LIBC.syscall(ADD_RULE, rules, 1, struct.pack("=Qi", rights, place), 0), f"Landlock, {path}")
    os.close(place)


def restrict_sockets(network: bool) -> None:
    """Have the kernel refuse to make sockets: Unix sockets only, or all of them."""
    machine = os.uname().machine
    if machine not in ARCHITECTURES:
        raise Refusal(f"there is no filter of system calls for {machine}")
    architecture, socket, socketpair = ARCHITECTURES[machine]
    denied = [(EQUAL, 1, 0, AF_UNIX), (RETURN, 0, 0, ALLOW), (RETURN, 0, 0, DENY)]
    if not network:
        denied = [(RETURN, 0, 0, DENY)]
    # Code, how many to skip where a comparison holds and where not, value.
    steps = [
        (LOAD, 0, 0, ARCHITECTURE),
        (EQUAL, 1, 0, architecture),
        (RETURN, 0, 0, KILL),
        (LOAD, 0, 0, NUMBER),
        (AT_LEAST, 0, 1, X32),
        (RETURN, 0, 0, DENY),
        (EQUAL, 0, 1, IO_URING_SETUP),
        (RETURN, 0, 0, DENY),
        (EQUAL, 0, 6, socketpair),
        (LOAD, 0, 0, SECOND),
        (AND, 0, 0, 0xF),
        (EQUAL, 2, 0, SOCK_STREAM),
        (EQUAL, 1, 0, SOCK_SEQPACKET),
        (RETURN, 0, 0, DENY),  # datagrams can be sent to others, whatever the pair
        (RETURN, 0, 0, ALLOW),
        (EQUAL, 1, 0, socket),
        (RETURN, 0, 0, ALLOW),
        (LOAD, 0, 0, FIRST),
        *denied,
    ]
    code = ctypes.create_string_buffer(b"".join(struct.pack("=HBBI", *step) for step in steps))
    program = struct.pack("@HP", len(steps), ctypes.addressof(code))
    checked(LIBC.prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, program, 0, 0), "the filter of system calls")


def environment() -> dict[bytes, bytes]:
    """The environment as it was given: this interpreter adds LC_CTYPE to its own."""
    with open("/proc/self/environ", "rb", 0) as file:
        pairs = (item.partition(b"=") for item in file.read().split(b"\0") if item)
        return {name: value for name, _, value in pairs}


def start(places: Iterable[str], command: list[str], environ: dict[bytes, bytes]) -> None:
    """Become the command, at the first of these places where it is."""
    for number in (signal.SIGPIPE, signal.SIGXFSZ):  # which this interpreter ignores
        signal.signal(number, signal.SIG_DFL)
    reason = os.strerror(errno.ENOENT)
    for place in places:
        try:
            os.execve(place, command, environ)
        except (FileNotFoundError, NotADirectoryError):
            continue
        except OSError as problem:
            reason = problem.strerror
    sys.stderr.write(f"{command[0]} cannot be run inside its sandbox: {reason}.\n")
    sys.exit(127)


def main() -> None:
    """Build the walls, and start the command inside."""
    wanted, command = json.loads(sys.argv[1]), sys.argv[2:]
    try:
        environ = environment()
        # Inside, this interpreter may not be able to import what looks along the PATH.
        folders = [""] if "/" in "".join(command[:1]) else os.get_exec_path()
        places = [os.path.join(folder, name) for folder in folders for name in command[:1]]
        checked(LIBC.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "no_new_privs")
        if wanted["files"]:
            restrict_files(wanted["read"], wanted["write"], wanted["devices"])
        restrict_sockets(wanted["network"])
    except (Refusal, OSError) as problem:
        sys.stderr.write(f"The sandbox cannot be built: {problem}.\n")
        sys.exit(126)
    if command:
        start(places, command, environ)


if __name__ == "__main__":
    main()
