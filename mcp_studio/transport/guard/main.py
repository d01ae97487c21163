"""The guard's own process: waits for the studio and forks keepers."""

from __future__ import annotations

import gc
import os
import sys

from .keeper import Keeper
from .system import IGNORED, signal, socket


def settle() -> socket.socket:
    """Leave the studio's session, terminal and descriptors behind; returns the socket to the studio."""
    for number in IGNORED:
        signal.signal(number, signal.SIG_IGN)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # keepers are not waited for
    signal.pthread_sigmask(signal.SIG_SETMASK, [])
    os.setsid()
    os.chdir("/")
    studio = socket.socket(fileno=os.dup(0))
    os.dup2(1, 0)
    for name in os.listdir("/dev/fd"):
        if (fd := int(name)) > 2 and fd != studio.fileno():
            try:
                os.close(fd)
            except OSError:  # the one that listdir used
                pass
    return studio


def main() -> None:
    """Fork a keeper for every message from the studio, until it closes."""
    studio = settle()
    life, life_end = os.pipe()  # keepers hold the reading end: it tells them when the guard itself is killed
    gc.disable()
    gc.freeze()  # collecting would write to the pages that all keepers share
    while True:
        data, ancillary, _, _ = studio.recvmsg(1, socket.CMSG_SPACE(16))
        if not data:
            return
        if not ancillary:
            continue
        packed = ancillary[0][2]
        fds = [int.from_bytes(packed[at : at + 4], sys.byteorder) for at in range(0, len(packed), 4)]
        control = socket.socket(fileno=fds[0])
        try:
            pid = os.fork()
        except OSError as error:
            control.send(f"fail fork {error.errno}\n".encode())
            pid = -1
        if pid == 0:
            studio.close()
            os.close(life_end)
            for fd in fds:
                os.set_inheritable(fd, False)
            Keeper(control, fds[1:], life).run()
            os._exit(0)
        control.close()
        for fd in fds[1:]:
            os.close(fd)
