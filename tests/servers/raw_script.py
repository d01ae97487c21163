"""A server that writes what a call tells it to, right or wrong. Standard library only.

    raw_script.py [--modern]

The tool `say` writes the lines of its argument `lines` to standard output, as they are: `$ID` becomes the id of the
call, `$TOKEN` its progress token; a line that begins with `${stderr} ` goes to standard error. It adds no answer.
"""

from __future__ import annotations

import json
import sys

from raw_server import RawServer, tool


class Scripted(RawServer):
    """The well-behaved server with the tool `say`."""

    def __init__(self, modern=False):
        super().__init__(modern)
        self.tools = [*self.tools, tool("say", "Writes lines.", ["lines"], lines=("array", "Lines"))]

    def call(self, request, params):
        if params.get("name") != "say":
            return super().call(request, params)
        token = request["params"].get("_meta", {}).get("progressToken")
        for line in params["arguments"]["lines"]:
            if line.startswith("${stderr} "):
                print(line.removeprefix("${stderr} "), file=sys.stderr, flush=True)
                continue
            text = line.replace("$ID", json.dumps(request["id"])).replace("$TOKEN", json.dumps(token))
            self.write(text.encode("utf-8", "surrogateescape") + b"\n")
        return None


if __name__ == "__main__":
    Scripted("--modern" in sys.argv[1:]).run()
