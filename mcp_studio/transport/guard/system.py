"""The system's calls that the guard needs.

The private modules below stand in for `socket`, `signal` and `ctypes`, which take longer to import than all the rest.
"""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    import signal as signal
    import socket as socket
else:
    import _signal as signal
    import _socket as socket

__all__ = ["IGNORED", "LINUX", "PR_SET_CHILD_SUBREAPER", "PR_SET_PDEATHSIG", "prctl", "signal", "socket"]

LINUX = sys.platform == "linux"
PR_SET_PDEATHSIG = 1
PR_SET_CHILD_SUBREAPER = 36
IGNORED = (signal.SIGINT, signal.SIGHUP, signal.SIGTERM, signal.SIGQUIT)
"""What a terminal or a logout may send: guard and keepers leave when the studio's sockets close, not before."""

if sys.platform == "linux":
    import _ctypes

    _PRCTL = _ctypes.dlsym(_ctypes.dlopen(None, 0), "prctl")  # type: ignore[arg-type]

    def prctl(option: int, value: int) -> None:
        """Set an attribute of this process."""
        _ctypes.call_function(_PRCTL, (option, value, 0, 0, 0))

else:

    def prctl(option: int, value: int) -> None:
        """There are no such attributes here."""
