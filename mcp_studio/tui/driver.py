"""A terminal driver that quits at once and knows a lone Esc on time, where that can be had.

Textual's input thread looks every 100 ms whether it should end, and whether an Esc was only an Esc. In ours a pipe
wakes it to end, and it sleeps exactly as long as the parser wants to wait.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from textual import constants

if TYPE_CHECKING:
    from textual.driver import Driver

_driver: type[Driver] | None = None
_fits: Callable[[], bool]
try:
    from mcp_studio.tui.prompt_driver import PromptDriver as _driver
    from mcp_studio.tui.prompt_driver import fits as _fits
except ImportError:  # Windows, or a Textual that is another inside
    pass


def prompt_driver() -> type[Driver] | None:
    """The driver class for the app; None for Textual's choice: where ours does not fit, or TEXTUAL_DRIVER is set."""
    return _driver if _driver is not None and constants.DRIVER is None and _fits() else None
