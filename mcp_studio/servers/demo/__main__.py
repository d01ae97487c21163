"""`python -m mcp_studio.servers.demo`: serve the bookshop on stdin and stdout, or on loopback with `--http PORT`."""

from __future__ import annotations

import argparse
import gc
import sys


def main(argv: list[str] | None = None) -> int:
    """Serve until the client leaves (stdio) or the process is interrupted (HTTP)."""
    parser = argparse.ArgumentParser(
        prog="python -m mcp_studio.servers.demo",
        description="A bookshop on which every feature of an MCP client can be tried.",
    )
    parser.add_argument(
        "--http",
        type=int,
        metavar="PORT",
        help="serve Streamable HTTP on 127.0.0.1 instead (0 takes a free port); the first line on stdout is the URL",
    )
    options = parser.parse_args(argv)
    # Thousands of model classes are made at import and none is garbage: collecting in between costs a quarter of it.
    gc.disable()
    from mcp_studio.servers.demo import server

    gc.freeze()
    gc.enable()
    try:
        server.stdio() if options.http is None else server.http(options.http)
    except KeyboardInterrupt:
        return 130
    except OSError as error:
        sys.stderr.write(f"Cannot serve on port {options.http}: {error.strerror or error}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
