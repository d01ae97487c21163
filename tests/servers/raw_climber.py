"""Tries to break out of its sandbox: each tool makes one attempt, and returns its outcome.

raw_climber.py [--on-term FILE]    serve; with a file, write to it on SIGTERM, and go on when the input ends
raw_climber.py TOOL JSON           make one attempt, as a child process, and print its outcome
"""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys

from raw_server import RawServer, text_result, tool


def read(path):
    """The text of a file."""
    with open(path, encoding="utf-8", errors="replace") as file:
        return file.read()


def write(path):
    """Write a file anew."""
    with open(path, "w", encoding="utf-8") as file:
        file.write("climbed")
    return "written"


def truncate(path):
    """Truncate a file without opening it."""
    os.truncate(path, 0)
    return "cut"


def listing(path):
    """The names in a folder."""
    return json.dumps(sorted(os.listdir(path)))


def link(path, name):
    """Rename a file in a folder that may be read."""
    os.link(path, name)
    return read(name)


def connect(port):
    """Open a TCP connection to this machine."""
    with socket.create_connection(("127.0.0.1", port), timeout=20):
        return "connected"


def send(port):
    """Send a datagram to this machine."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
        sender.sendto(b"climbed", ("127.0.0.1", port))
        return "sent"


def call(path):
    """Connect to somebody's Unix socket."""
    with socket.socket(socket.AF_UNIX) as caller:
        caller.connect(path)
        return "connected"


def pair():
    """Make a pair of connected sockets, as event loops do."""
    one, other = socket.socketpair()
    one.send(b"heard")
    return other.recv(5).decode()


def post(path):
    """Send a datagram to somebody's Unix socket, from one socket of a pair."""
    one, _ = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
    one.sendto(b"climbed", path)
    return "sent"


def surroundings():
    """The working folder and environment."""
    return json.dumps([os.getcwd(), dict(os.environ)])


def child(attempt, arguments):
    """Make the attempt in a child process."""
    words = [sys.executable, __file__, attempt, json.dumps(arguments)]
    return subprocess.run(words, capture_output=True, text=True, check=True).stdout


ATTEMPTS = {one.__name__: one for one in (
    read, write, truncate, listing, link, connect, send, call, pair, post, surroundings, child,
)}  # fmt: skip


def made(attempt, arguments):
    """Make an attempt and return its outcome."""
    try:
        return ATTEMPTS[attempt](**arguments)
    except OSError as problem:
        return f"refused: {problem.strerror or problem}"


class Climber(RawServer):
    """Offers the attempts as tools."""

    def __init__(self):
        super().__init__()
        self.tools = [tool(name, attempt.__doc__) for name, attempt in ATTEMPTS.items()]

    def call(self, request, params):
        """Answer with the outcome of an attempt."""
        return text_result(made(params["name"], params.get("arguments", {})))


def on_term(*_):
    """Write the file and end."""
    write(sys.argv[2])
    sys.exit(0)


def main():
    """Serve, or make one attempt."""
    if sys.argv[1:2] == ["--on-term"]:
        signal.signal(signal.SIGTERM, on_term)
        Climber().run()
        while True:
            signal.pause()
    if len(sys.argv) > 2:
        print(made(sys.argv[1], json.loads(sys.argv[2])), end="")
    else:
        Climber().run()


if __name__ == "__main__":
    main()
