"""An HTTP server whose answers are hostile text: reason, headers, body. Prints its URL. Standard library only.

/500  an error page    /401  a challenge    /html  a page instead of JSON    /redirect  to somewhere hostile
/rpc  a JSON-RPC error, in a stream of events with hostile fields
"""

from __future__ import annotations

import json
import socketserver
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
from raw_offer import HOSTILE

LINE = HOSTILE.replace("\r", "").replace("\n", "").replace("\0", "")
"""The text without characters that would end a header."""


class Handler(socketserver.StreamRequestHandler):
    """Answers one request per connection."""

    def handle(self):
        """Read the request and answer by its path."""
        path = self.rfile.readline().decode("latin-1").split(" ")[1]
        length = 0
        while (line := self.rfile.readline()) not in (b"\r\n", b""):
            if line.lower().startswith(b"content-length:"):
                length = int(line.split(b":")[1])
        body = self.rfile.read(length)
        asked = json.loads(body) if body else {}
        error = {"code": -32001, "message": "No." + HOSTILE, "data": HOSTILE}
        answer = json.dumps({"jsonrpc": "2.0", "id": asked.get("id"), "error": error})
        event = f"event: {LINE}\nid: {LINE}\ndata: {answer}\n\n"
        status, kind, text, extra = {
            "/500": (f"500 {LINE}", f"text/plain; {LINE}", f"It broke. {HOSTILE}", f"X-Evil: {LINE}"),
            "/401": ("401 No", "text/plain", HOSTILE, f'WWW-Authenticate: Bearer error="{LINE}", realm="{LINE}"'),
            "/html": ("200 OK", "text/html", f"<h1>{HOSTILE}</h1>", f"Mcp-Session-Id: {LINE}"),
            "/redirect": (f"302 {LINE}", "text/plain", HOSTILE, f"Location: http://evil.example/{LINE}"),
            "/rpc": ("200 OK", "text/event-stream", event, f"X-Evil: {LINE}"),
        }[path]
        data = text.encode()
        lines = (
            f"HTTP/1.1 {status}",
            f"Content-Type: {kind}",
            f"Content-Length: {len(data)}",
            "Connection: close",
            extra,
        )
        self.wfile.write("\r\n".join((*lines, "", "")).encode() + data)


class Server(socketserver.ThreadingTCPServer):
    """Uses a thread for each connection."""

    allow_reuse_address = True
    daemon_threads = True


if __name__ == "__main__":
    with Server(("127.0.0.1", 0), Handler) as server:
        print(f"http://127.0.0.1:{server.server_address[1]}", flush=True)
        server.serve_forever()
