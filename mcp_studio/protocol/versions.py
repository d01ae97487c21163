"""Protocol versions, error codes and `_meta` keys of the specification."""

from __future__ import annotations

from typing import Literal

HANDSHAKE_VERSIONS = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
"""Versions agreed on by `initialize`, oldest first."""
MODERN_VERSIONS = ("2026-07-28",)
"""Stateless versions, found by `server/discover`, oldest first."""
VERSIONS = HANDSHAKE_VERSIONS + MODERN_VERSIONS
_KNOWN = frozenset(VERSIONS)
LATEST_HANDSHAKE = HANDSHAKE_VERSIONS[-1]
LATEST_MODERN = MODERN_VERSIONS[-1]

META_VERSION = "io.modelcontextprotocol/protocolVersion"
META_CAPABILITIES = "io.modelcontextprotocol/clientCapabilities"
META_CLIENT = "io.modelcontextprotocol/clientInfo"
META_SERVER = "io.modelcontextprotocol/serverInfo"

META_LOG_LEVEL = "io.modelcontextprotocol/logLevel"
META_SUBSCRIPTION = "io.modelcontextprotocol/subscriptionId"
META_TASK = "io.modelcontextprotocol/related-task"
EXTENSION_TASKS = "io.modelcontextprotocol/tasks"

LOG_LEVELS = ("debug", "info", "notice", "warning", "error", "critical", "alert", "emergency")
"""Levels of log messages (RFC 5424), least severe first."""

INVALID_REQUEST = -32600
METHOD_NOT_FOUND = -32601
INVALID_PARAMS = -32602
INTERNAL_ERROR = -32603
HEADER_MISMATCH = -32020
MISSING_CAPABILITY = -32021
UNSUPPORTED_VERSION = -32022
URL_ELICITATION_REQUIRED = -32042
USER_REJECTED = -1
"""The code for a sampling request that a person refused (client/sampling)."""

NAMED = {
    "tools/call": "name", "prompts/get": "name", "resources/read": "uri",
    "tasks/get": "taskId", "tasks/update": "taskId", "tasks/cancel": "taskId", "tasks/result": "taskId",
}  # fmt: skip
"""Methods whose subject goes into the `Mcp-Name` header, and the parameter it is taken from."""
LISTS = ("tools/list", "resources/list", "resources/templates/list", "prompts/list")
"""Methods that list what a server offers, in pages."""
RESULT_TYPES = ("complete", "input_required")
"""Values of `resultType` (2026-07-28); any other makes the result invalid."""
TASK_RESULT = "task"
"""One more, for `tools/call` alone and where the client has declared the tasks extension."""


def era_of(version: str) -> Literal["legacy", "modern", ""]:
    """The era that a version belongs to; empty for one that is not known."""
    return "legacy" if version in HANDSHAKE_VERSIONS else "modern" if version in MODERN_VERSIONS else ""


def at_least(version: str, minimum: str) -> bool:
    """Whether a version is known and not older than `minimum`."""
    # Versions are dates, so that they sort as texts.
    return version >= minimum and version in _KNOWN
