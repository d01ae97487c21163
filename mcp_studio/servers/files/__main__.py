"""`python -m mcp_studio.servers.files`: serve folders on stdin and stdout, or on loopback with `--http PORT`."""

from __future__ import annotations

import argparse
import sys

from mcp_studio.errors import StudioError
from mcp_studio.servers.files.server import start
from mcp_studio.servers.files.tools import PREFIXES


def main() -> int:
    """Serve until the client leaves (stdio) or the process is interrupted (HTTP)."""
    parser = argparse.ArgumentParser(prog="python -m mcp_studio.servers.files", description="Files of some folders.")
    parser.add_argument("folders", nargs="*", metavar="DIR", help="a folder; without one: those that the client names")
    parser.add_argument("--root", action="append", default=[], metavar="DIR", help="the same as DIR")
    parser.add_argument("--read-only", action="store_true", help="no tools that change something")
    parser.add_argument("--names", choices=PREFIXES, default="plain", help="harness: names begin with fs_")
    parser.add_argument("--http", type=int, metavar="PORT", help="Streamable HTTP on 127.0.0.1, 0 takes a free port")
    options = parser.parse_args()
    try:
        return start([*options.folders, *options.root], options.read_only, options.names, options.http)
    except StudioError as problem:
        parser.exit(problem.exit_code, f"{problem.message} {problem.hint}".strip() + "\n")


if __name__ == "__main__":
    sys.exit(main())
