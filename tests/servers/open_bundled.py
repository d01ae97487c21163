"""A bundled server over HTTP that requires no token, for the conformance suite:

python -m tests.servers.open_bundled files FOLDER | database NAME=ADDRESS
"""

from __future__ import annotations

import sys

from mcp_studio.servers import loopback
from mcp_studio.servers.database import server as database
from mcp_studio.servers.files import server as files
from mcp_studio.servers.http import PATH, HttpServer
from mcp_studio.servers.toolserver import ToolPeer

if __name__ == "__main__":
    kind, *words = sys.argv[1:]
    server = files.build(words) if kind == "files" else database.build(words)
    loopback.serve(HttpServer(lambda: ToolPeer(server)), 0, PATH, lifespan="off")
