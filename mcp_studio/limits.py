"""The bounds on everything that a server could make unbounded. Seconds and bytes unless named otherwise."""

from __future__ import annotations

from mcp_studio.record import record

KB = 1024
MB = 1024 * KB


def size_text(size: int) -> str:
    """A number of bytes for people: `64 MB`, `1.5 KB`, `300 B`."""
    for unit, name in ((MB, "MB"), (KB, "KB")):
        if size >= unit:
            return f"{size / unit:.1f}".removesuffix(".0") + f" {name}"
    return f"{size} B"


@record(frozen=True)
class Limits:
    """One value per bound; every field can be set in `[limits]` of config.toml."""

    connect: float = 15.0
    """Connecting, all phases together, with getting a token where no person is needed for it."""
    probe: float = 1.0
    """Waiting for `server/discover` on stdio before the handshake of the older era is tried."""
    call_idle: float = 60.0
    """Waiting for the answer to a request; each progress message starts the time anew."""
    call_total: float = 600.0
    """One request in all, with or without progress; all pages of a list together; also a task that a call waits for."""
    failover: float = 5.0
    """Silence of a group's server after a check whether it is alive; then calls that may move go to another server."""
    call_longest: float = 3600.0
    """One request in all, with the time in which a person is asked."""
    answer: float = 900.0
    """A server's question that waits for a person; after that the server gets the answer `cancel`."""
    approval: float = 300.0
    """A call that waits for approval; after that it is denied."""
    close: float = 3.0
    """Closing one server before its processes are killed."""
    leave: float = 0.3
    """Time for a local server to exit after its input is closed, before it gets SIGTERM."""
    close_all: float = 5.0
    """Closing everything."""
    body: float = 30.0
    """The body of one request that a client sends to the gateway."""
    write: float = 10.0
    """Handing one message to a server that does not read."""
    message: int = 64 * MB
    """One stdio line, decoded HTTP body, SSE event or WebSocket message."""
    headers: int = 64 * KB
    """All headers of one HTTP response."""
    depth: int = 512
    """Nesting of one JSON message."""
    values: int = 1_000_000
    """Values in one JSON message; each takes some 70 bytes of memory."""
    stderr: int = 256 * KB
    """The newest standard error output that is kept per server."""
    stray: int = 20
    """Lines of unexpected standard output kept per server; the rest is counted."""
    pages: int = 100
    """Pages of one listing."""
    items: int = 10_000
    """Entries of one listing."""
    server_requests: int = 512
    """Open requests of one server; further requests get no answer, and the trace says so."""
    prompts: int = 5
    """Questions of one server that are shown at a time; further questions wait unseen."""
    prompts_minute: int = 10
    """Questions of one server in a minute that open a dialog by themselves; further questions wait in the inbox."""
    rounds: int = 10
    """`input_required` rounds of one request."""
    sampling: int = 20
    """Sampling requests that one call may make."""
    url_retries: int = 5
    """Retries of one call that needs pages to be opened before."""
    tasks: int = 500
    """Tasks of one server that are kept."""
    logs: int = 2_000
    """Log messages kept per server."""
    cache_entries: int = 1_000
    """Results of `resources/read` in the cache, of all servers together."""
    cache_bytes: int = 32 * MB
    """Bytes of all results of `resources/read` in the cache."""
    step_ups: int = 3
    """Times that one request may ask for further scopes, or be refused with a fresh token."""
    metadata: int = MB
    """Bytes of one answer of an authorization server."""
    sign_in_request: float = 15.0
    """One request to an authorization server, all phases together."""
    sign_in: float = 900.0
    """Waiting for a person in a browser."""
    reconnects: int = 5
    """Reconnects of one stream in a row without progress."""
    retry_min: float = 0.25
    """Smallest reconnect delay that a server may ask for."""
    retry_max: float = 30.0
    """Largest reconnect delay, largest pause between restarts, and longest `Retry-After` that a client waits for."""
    restarts: int = 5
    """Restarts of a server that keeps ending by itself."""
    check_time: float = 2.0
    """Checking one value against its schema."""
    check_memory: int = 512 * MB
    """Memory for checking one value against its schema."""
    field_file: int = 8 * MB
    """A file that is put into a field, and a text that comes back from an editor."""
    trace_entries: int = 10_000
    """Trace entries in memory where nothing is recorded."""
    trace_bytes: int = 64 * MB
    """Bytes of trace entries in memory where nothing is recorded."""


DEFAULT = Limits()
