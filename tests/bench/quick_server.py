"""The quickest server that Python makes: answers calls from a template, and floods on request. For benchmarks.

With a number it sends so many notifications a second by itself, from a moment after it was listed.
"""

from __future__ import annotations

import json
import sys
import threading
import time

INFO = {
    "protocolVersion": "2025-11-25",
    "capabilities": {"tools": {}, "logging": {}},
    "serverInfo": {"name": "quick", "version": "1"},
}
TOOLS = [
    {"name": name, "inputSchema": {"type": "object"}, "annotations": {"readOnlyHint": True}}
    for name in ("echo", "flood")
]
RESULT = '{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":"ok"}]}}\n'
LOG = '{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"line %d"}}\n'


def flood(count: int, rate: int = 0) -> None:
    """So many notifications, at once or so many a second."""
    if not rate:
        sys.stdout.write("".join(LOG % number for number in range(count)))
        return
    began, done = time.perf_counter(), 0
    while done < count:
        due = min(count, int((time.perf_counter() - began) * rate))
        sys.stdout.write("".join(LOG % number for number in range(done, due)))
        sys.stdout.flush()
        done = due
        time.sleep(0.005)


def pour(rate: int) -> None:
    """Flood for ever."""
    time.sleep(1.0)
    flood(1 << 40, rate)


def main() -> None:
    out = sys.stdout
    for line in sys.stdin:
        if '"tools/call"' in line:
            call = json.loads(line)
            if call["params"]["name"] == "flood":
                flood(**call["params"]["arguments"])
            out.write(RESULT % call["id"])
        else:
            message = json.loads(line)
            if "id" not in message:
                continue
            answer = {"jsonrpc": "2.0", "id": message["id"]}
            if message["method"] == "initialize":
                answer["result"] = INFO
            elif message["method"] == "tools/list":
                answer["result"] = {"tools": TOOLS}
                if sys.argv[1:]:
                    threading.Thread(target=pour, args=(int(sys.argv[1]),), daemon=True).start()
            else:
                answer["error"] = {"code": -32601, "message": "no"}
            out.write(json.dumps(answer) + "\n")
        out.flush()


if __name__ == "__main__":
    main()
