"""The process that regexes run in which may take for ever: whoever started it ends it. Needs nothing but Python."""

import re
import signal
import struct
import sys

LONGEST = 2
"""Seconds for one request until the kernel ends the process, should nobody else be there to do it."""

_SPAN = struct.Struct("<ii")


def main(pattern: str, flags: int, spans: bool = False) -> None:
    """Answer until the input ends: the sizes of texts, then the texts; 1 for each that the pattern is found in.

    With `spans`: where it begins and ends there, in characters, as two 32-bit numbers; -1 where it is not found.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # meant for who started it
    search = re.compile(pattern, flags).search
    read, write = sys.stdin.buffer, sys.stdout.buffer
    write.write(b"\n")  # it has started: what that takes on a busy machine is no regex's fault
    write.flush()
    while line := read.readline():
        texts = [read.read(int(size)).decode("utf-8", "replace") for size in line.split()]
        if hasattr(signal, "alarm"):
            signal.alarm(LONGEST + sum(map(len, texts)) // 5_000_000)
        if spans:
            found = b"".join(_SPAN.pack(*(match.span() if (match := search(text)) else (-1, -1))) for text in texts)
        else:
            found = bytes(search(text) is not None for text in texts)
        if hasattr(signal, "alarm"):
            signal.alarm(0)
        write.write(found)
        write.flush()
