"""Restricts its own process by Landlock and a system call filter, then becomes the server.

`sandbox.walls` starts this file as a program of its own; the studio never imports it:

    landlock_program.py '{"network": false, "files": true, "read": […], "write": […], "devices": […]}' COMMAND ARGS…

If a restriction is impossible, it says why on standard error and exits with 126. Without a command it only tests the
restrictions. Landlock cannot restrict who connects to a socket, so the filter blocks creating sockets: network sockets
if the network is blocked, and Unix sockets always, because their servers (the session bus, docker) would act for the
program outside of the walls. Connected socket pairs stay allowed: programs talk to their children through them.
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
"""The system calls of Landlock (linux/landlock.h); their numbers are the same on all architectures."""
OLDEST = 3
"""The first version that protects files from being truncated (`truncate`): Linux 6.2."""
PR_SET_SECCOMP = 22
PR_SET_NO_NEW_PRIVS = 38
SECCOMP_MODE_FILTER = 2

EXECUTE, WRITE_FILE, READ_FILE, READ_DIR = 1 << 0, 1 << 1, 1 << 2, 1 << 3
MAKE_CHAR, MAKE_BLOCK, TRUNCATE, IOCTL_DEV = 1 << 6, 1 << 11, 1 << 14, 1 << 15
READ = EXECUTE | READ_FILE | READ_DIR
WRITE = ((1 << 15) - 1) & ~(MAKE_CHAR | MAKE_BLOCK)
OF_FILES = EXECUTE | WRITE_FILE | READ_FILE | TRUNCATE
"""The rights that a path other than a folder can have."""
SCOPES = 3
"""Blocks abstract Unix sockets of, and signals to, processes outside the sandbox (version 6)."""

ARCHITECTURES = {"x86_64": (0xC000003E, 41, 53), "aarch64": (0xC00000B7, 198, 199)}
"""The architecture's number in filters (linux/audit.h), and the numbers of `socket` and `socketpair`."""
IO_URING_SETUP = 425
"""io_uring creates sockets without the filtered system call."""
X32 = 0x40000000
"""System call numbers from here on are the same calls in another ABI on x86_64."""
AF_UNIX, SOCK_STREAM, SOCK_SEQPACKET = 1, 1, 5
LOAD, AND, EQUAL, AT_LEAST, RETURN = 0x20, 0x54, 0x15, 0x35, 0x06
NUMBER, ARCHITECTURE, FIRST, SECOND = 0, 4, 16, 24
"""Offsets in `struct seccomp_data`; arguments have the lower half here, on these architectures."""
ALLOW, DENY, KILL = 0x7FFF0000, 0x00050000 | errno.EACCES, 0x80000000


class Refusal(Exception):
    """A restriction that is impossible here; the message says why."""


def checked(result: int, what: str) -> int:
    """Return the result of a system call; raises a refusal if the call has failed."""
    if result < 0:
        raise Refusal(f"{what}: {os.strerror(ctypes.get_errno())}")
    return result


def restrict_files(read: Iterable[str], write: Iterable[str], devices: Iterable[str]) -> None:
    """Allow access to these paths and what is below them, and to nothing else."""
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
    """Add a path to the rules; a missing path needs no rule."""
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
    """Block the creation of Unix sockets, and of all other sockets unless `network` is allowed."""
    machine = os.uname().machine
    if machine not in ARCHITECTURES:
        raise Refusal(f"there is no filter of system calls for {machine}")
    architecture, socket, socketpair = ARCHITECTURES[machine]
    denied = [(EQUAL, 1, 0, AF_UNIX), (RETURN, 0, 0, ALLOW), (RETURN, 0, 0, DENY)]
    if not network:
        denied = [(RETURN, 0, 0, DENY)]
    # Code, instructions to skip if a comparison holds and if not, value.
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
        (RETURN, 0, 0, DENY),  # datagrams can be sent to other sockets, even from a connected pair
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
    """The environment that this process was started with: the interpreter adds LC_CTYPE to its own."""
    with open("/proc/self/environ", "rb", 0) as file:
        pairs = (item.partition(b"=") for item in file.read().split(b"\0") if item)
        return {name: value for name, _, value in pairs}


def start(places: Iterable[str], command: list[str], environ: dict[bytes, bytes]) -> None:
    """Replace this process by the command, from the first of these paths that exists."""
    for number in (signal.SIGPIPE, signal.SIGXFSZ):  # the interpreter ignores these, and the command would inherit that
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
    """Apply the restrictions, and start the command."""
    options, command = json.loads(sys.argv[1]), sys.argv[2:]
    try:
        environ = environment()
        # After the restrictions the interpreter may not be able to import the modules that search the PATH.
        folders = [""] if "/" in "".join(command[:1]) else os.get_exec_path()
        places = [os.path.join(folder, name) for folder in folders for name in command[:1]]
        checked(LIBC.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "no_new_privs")
        if options["files"]:
            restrict_files(options["read"], options["write"], options["devices"])
        restrict_sockets(options["network"])
    except (Refusal, OSError) as problem:
        sys.stderr.write(f"The sandbox cannot be built: {problem}.\n")
        sys.exit(126)
    if command:
        start(places, command, environ)


if __name__ == "__main__":
    main()
