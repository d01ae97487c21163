"""The floor: an MCP client of nothing but pipes and JSON. bare_client.py list|call -- COMMAND ARGS…"""

import json
import subprocess
import sys

HELLO = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "bare", "version": "0"}}


def main():
    """List the tools, or call echo."""
    process = subprocess.Popen(
        sys.argv[sys.argv.index("--") + 1 :], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    )

    def send(**message):
        process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
        process.stdin.flush()

    def ask(number, method, params):
        send(id=number, method=method, params=params)
        while True:
            message = json.loads(process.stdout.readline())
            if message.get("id") == number and "method" not in message:
                return message["result"]

    ask(1, "initialize", HELLO)
    send(method="notifications/initialized")
    if sys.argv[1] == "list":
        for tool in ask(2, "tools/list", {})["tools"]:
            print(tool["name"])
    else:
        print(ask(2, "tools/call", {"name": "echo", "arguments": {"message": "hi"}})["content"][0]["text"])
    sys.stdout.flush()
    process.terminate()
    process.wait()


if __name__ == "__main__":
    main()
