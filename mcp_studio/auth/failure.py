"""What ends signing in."""

from __future__ import annotations

from mcp_studio.errors import StudioError


class AuthFailed(StudioError):
    """Signing in did not work: what somebody sent or did, and in the hint what should have been sent, or what to do."""

    exit_code = 3
