"""A stdio MCP server that is correct except for one fault. Standard library only.

    raw_faults.py [--fault NAME] [--modern] [--count N] [--size BYTES] [--tools N] [--depth N] [--delay SECONDS]
    raw_faults.py --list        the names of all faults

Without `--fault` it is `raw_server.py`. It speaks 2025-11-25; with `--modern` 2026-07-28 only. Tool faults show at any
tool call. Options: `--count` messages of a flood (default 10,000), `--size` of a big result (20,000,000), `--tools`
offered by many-tools (2,000), `--depth` of deep-json (100,000), `--delay` of slow-start (2).

The process
    dies-at-start        two lines on standard error, exit code 3
    slow-start           reads after `--delay` seconds
    never-reads          lives, never reads
    closed-stdin         closes its input at once and lives on
    closed-stdout        closes its output at once and lives on
    stubborn             serves, but ignores SIGTERM and the end of its input
    grandchildren        serves; starts a child, a child in its own session, and a daemon, which all ignore SIGTERM;
                         writes their pids as `children PID PID PID` to standard error
    leaves-child         the same with one child; the server itself ends in order (npx)
    exits-mid-call       a line on standard error and exit code 7 instead of an answer
    killed-mid-call      SIGKILL instead of an answer
    stderr-flood         10 MB of standard error before each answer

Negotiation
    silent-discover      never answers server/discover, the handshake works
    dies-on-discover     exits with 1 at server/discover, the handshake works
    discover-garbage     an empty result for server/discover
    discover-disjoint    refuses server/discover, because it supports unknown versions only
    unknown-version      settles on 1999-01-01
    old-version          settles on 2024-11-05
    init-error           refuses initialize
    init-garbage         answers initialize with something else
    silent               reads everything, answers nothing

Lists
    bad-tool             malformed tools of every kind between two good ones
    bad-list             `tools` is a text
    missing-list         no `tools` at all
    list-error           a JSON-RPC error for tools/list
    endless-cursors      every page has another cursor
    slow-pages           the same, a tenth of a second apart
    slow-bytes           a byte every twentieth of a second, and no list
    cursor-loop          every page has the same cursor
    bad-cursor           the cursor is an object
    empty-cursor         the second page is at the cursor "" (which is right)
    duplicate-names      every tool twice
    many-tools           `--tools` tools
    evil-schemas         ReDoS, remote and cyclic references, exponential, no schema at all
    hostile              escape sequences, bidi, markup and more in every string it offers, sends, logs and asks

Answers to a tool call
    stray                prints to standard output at the start and between messages
    stray-flood          50,000 printed lines before the answer
    crlf                 byte order mark, empty lines, CRLF
    split-writes         one byte a write
    batch                a JSON-RPC batch of notification, answer and orphan
    truncated            half an answer
    invalid-utf8, lone-surrogate, nul, raw-control
                         such characters in the text (raw-control is no valid JSON)
    deep-json            nested `--depth` deep
    huge-number, nan     a number of 5,000 digits, NaN, as structured content
    duplicate-keys       a member twice
    wrong-id, string-id, null-id, object-id
                         the id has another value or type, or is null
    null-id-first        an error without an id, then the right answer
    duplicate-response   the answer twice
    orphan-response      an answer to no request, then the right one
    result-and-error, no-result, no-jsonrpc, null-result, list-result, empty-result
                         the envelope or the result is wrong in this way
    bad-error            the error is a text
    bad-error-code       code and message of the error have wrong types
    unknown-result-type  resultType "hologram"
    unknown-content      a known, an unknown and two malformed content blocks
    schema-mismatch      structured content that breaks the tool's outputSchema
    unknown-notification a notification that no version knows, then the answer
    big-progress         unusable progress numbers (400 digits, 1e999, texts), then the answer
    endless-progress     progress every 10 ms, `--count` times, never an answer
    notification-flood   `--count` log messages, then the answer
    list-changed-flood   `--count` notifications that the tools changed, then the answer
    server-requests      `--count` requests to the client, then the answer
    unknown-requests     `--count` requests that nobody knows, then the answer
    silent-call          never an answer to a tool call
    big-result           a text of `--size` bytes
    big-result-id-last   the same, with the id at the end of the message
"""

from __future__ import annotations

import argparse
import os
import time

from raw_offer import LISTS, NEGOTIATION, poison
from raw_process import ON_CALL, START, say
from raw_server import CAPABILITIES, INFO, RawServer
from raw_wire import INSTEAD

FAULTS = sorted({*START, *ON_CALL, *NEGOTIATION, *LISTS, *INSTEAD, "hostile"})


class FaultyServer(RawServer):
    """The correct server with one fault."""

    def __init__(self, options):
        super().__init__(options.modern)
        self.fault = options.fault
        self.count = options.count
        self.size = options.size
        self.depth = options.depth
        self.delay = options.delay
        self.tools_offered = options.tools

    def run(self):
        if self.fault in START:
            START[self.fault](self)
        if self.fault == "stray":
            self.write(b"Raw server 1.0 starting...\nListening on stdio\n")
        if self.fault == "hostile":
            say(poison("raw: ready"))
        super().run()
        while self.fault == "stubborn":
            time.sleep(600)

    def die(self, text, code):
        """End at once."""
        say(text)
        os._exit(code)

    def initialize_as(self, version):
        """The handshake's result with this version."""
        return {"protocolVersion": version, "capabilities": CAPABILITIES, "serverInfo": INFO}

    def send(self, message):
        if self.fault == "hostile":
            for part in ("result", "params", "error"):
                if part in message:
                    message = {**message, part: poison(message[part])}
        super().send(message)

    def result(self, request, method, params):
        if self.fault in NEGOTIATION:
            wanted, fault = NEGOTIATION[self.fault]
            if wanted in ("", method):
                return fault(self, request)
        if method == "tools/call" and self.fault in ON_CALL:
            ON_CALL[self.fault](self)
        if method == "tools/call" and self.fault == "hostile":
            self.notify("notifications/message", level="error", logger="raw", data="a log line")
        return super().result(request, method, params)

    def list_tools(self, params):
        return LISTS[self.fault](self, params) if self.fault in LISTS else super().list_tools(params)

    def answer_well(self, request, result):
        """Send the correct answer."""
        super().answer(request, result)

    def answer(self, request, result):
        if request["method"] == "tools/call" and self.fault in INSTEAD:
            INSTEAD[self.fault](self, request, result)
        else:
            super().answer(request, result)


def main():
    """Serve."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--fault", choices=FAULTS, default="")
    parser.add_argument("--modern", action="store_true")
    parser.add_argument("--count", type=int, default=10_000)
    parser.add_argument("--size", type=int, default=20_000_000)
    parser.add_argument("--tools", type=int, default=2_000)
    parser.add_argument("--depth", type=int, default=100_000)
    parser.add_argument("--delay", type=float, default=2)
    parser.add_argument("--list", action="store_true")
    options = parser.parse_args()
    if options.list:
        print("\n".join(FAULTS))
    else:
        FaultyServer(options).run()


if __name__ == "__main__":
    main()
