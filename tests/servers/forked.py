"""Stands for a program that forker.py runs: gives it the streams, environment and folder, and takes its exit code.

python -I -S forked.py SOCKET FILE [ARGUMENT ...]
python -I -S forked.py SOCKET -m MODULE [ARGUMENT ...]
"""

from __future__ import annotations

import json
import os
import signal
import socket
import sys


def ask(line: socket.socket, path: str, argv: list[str], streams: list[int], env: dict[str, str], cwd: str) -> None:
    """Ask the forker to run a program; `streams` are file descriptors for its standard input, output and error."""
    line.connect(path)
    wanted = json.dumps({"argv": argv, "env": env, "cwd": cwd}).encode() + b"\n"
    sent = socket.send_fds(line, [wanted], streams)
    line.sendall(wanted[sent:])


def main(path: str, argv: list[str]) -> int:
    """Run the program and return its exit code. It gets the SIGINTs of this process, and ends with it."""
    with socket.socket(socket.AF_UNIX) as line:
        signal.signal(signal.SIGINT, lambda number, _: line.send(bytes([number])))
        ask(line, path, argv, [0, 1, 2], dict(os.environ), os.getcwd())
        code = line.recv(1)
        return code[0] if code else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2:]))
