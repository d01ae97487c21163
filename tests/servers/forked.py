"""Stands for a program that forker.py runs: with its streams, its environment, its folder and its exit code.

python -I -S forked.py SOCKET FILE [ARGUMENT ...]
"""

from __future__ import annotations

import json
import os
import socket
import sys


def main(path: str, argv: list[str]) -> int:
    """Have it run; returns its exit code. When this process is killed, the program ends too."""
    with socket.socket(socket.AF_UNIX) as line:
        line.connect(path)
        wanted = json.dumps({"argv": argv, "env": dict(os.environ), "cwd": os.getcwd()}).encode() + b"\n"
        sent = socket.send_fds(line, [wanted], [0, 1, 2])
        line.sendall(wanted[sent:])
        code = line.recv(1)
        return code[0] if code else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2:]))
