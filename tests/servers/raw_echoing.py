"""A server that answers invalid messages with -32700 or -32600 and a null id, and batches with batches.

raw_echoing.py
"""

from __future__ import annotations

import json
import sys

from raw_server import RawServer


class Echoing(RawServer):
    """The well-behaved server, strict about JSON-RPC and ready for batches."""

    def run(self):
        """Serve until standard input ends."""
        for line in sys.stdin.buffer:
            try:
                message = json.loads(line)
            except ValueError:
                self.send({"jsonrpc": "2.0", "id": None, "error": {"code": -32700, "message": "Parse error"}})
                continue
            if isinstance(message, list):
                self.send([{"jsonrpc": "2.0", "id": one["id"], "result": {}} for one in message if "id" in one])
            elif "method" not in message and "id" in message:
                self.on_response(message)
            elif "method" not in message:
                self.send({"jsonrpc": "2.0", "id": None, "error": {"code": -32600, "message": "Invalid request"}})
            elif "id" in message:
                self.on_request(message)
            else:
                self.on_notification(message)


if __name__ == "__main__":
    Echoing().run()
