"""A server of both eras, as official SDKs make them: it answers `server/discover`, and `initialize` as well.

    raw_both.py [--delay SECONDS] [--refuse] [--pushes]

It reads nothing before the delay is over. A successful `initialize` binds the connection to the handshake era; requests
of the other era are refused then. With `--refuse` it refuses the handshake, with -32022. With `--pushes` the tool `ask`
always asks as in the handshake era.
"""

from __future__ import annotations

import argparse
import time

from raw_server import CAPABILITIES, LEGACY, META, MODERN, RawServer, Refusal


class BothEras(RawServer):
    """Stateless until there is a handshake."""

    def __init__(self, *, refuse, pushes):
        super().__init__(modern=True)
        self.refusing = refuse
        self.pushes = pushes

    def ask(self, request, params):
        if self.pushes and self.modern:
            raise Refusal(-32600, "Cannot send 'elicitation/create': this transport context has no back-channel.")
        return super().ask(request, params)

    def result(self, request, method, params):
        if method == "initialize":
            if self.refusing:
                raise Refusal(-32022, "Unsupported protocol version", {"supported": [MODERN]})
            self.modern = False
        elif not self.modern and META + "protocolVersion" in params.get("_meta", {}) and method != "server/discover":
            raise Refusal(-32600, "This connection has begun with a handshake")
        elif method == "server/discover":
            return {"supportedVersions": [*LEGACY, MODERN], "capabilities": CAPABILITIES}
        return super().result(request, method, params)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--delay", type=float, default=0.0)
    parser.add_argument("--refuse", action="store_true")
    parser.add_argument("--pushes", action="store_true")
    options = parser.parse_args()
    time.sleep(options.delay)
    BothEras(refuse=options.refuse, pushes=options.pushes).run()
