"""A bundled server over HTTP that requires no token, for the conformance suite:

python -m tests.servers.open_bundled files FOLDER | database NAME=ADDRESS
"""

from __future__ import annotations

import sys

from mcp_studio.servers.database import server as database
from mcp_studio.servers.files import server as files
from mcp_studio.servers.toolserver import run

if __name__ == "__main__":
    kind, *words = sys.argv[1:]
    run(files.build(words) if kind == "files" else database.build(words), 0, guarded=False)
