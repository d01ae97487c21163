"""Which mistakes do not end the studio: of what was taken away meanwhile, and what only has to be told."""

from __future__ import annotations

import logging

from textual._context import active_message_pump
from textual.message_pump import MessagePump
from textual.worker import WorkerFailed, get_current_worker

from mcp_studio.errors import StudioError

log = logging.getLogger(__name__)


def to_be_told(error: Exception) -> StudioError | None:
    """What a person has to know of work that could not be done."""
    cause = error.error if isinstance(error, WorkerFailed) else None
    return cause if isinstance(cause, StudioError) else None


def of_the_gone(error: Exception) -> bool:
    """Whether it came of a dialog or view that is being taken away, or while the app is left: it goes to the log.

    Its work and timers end a moment after its parts are gone, and may look for them in between.
    """
    node = _node(error)
    if node is None or (node.is_attached and not getattr(node, "_pruning", False)):
        return False
    log.warning("%s was taken away meanwhile", type(node).__name__, exc_info=error)
    return True


def _node(error: Exception) -> MessagePump | None:
    if isinstance(error, WorkerFailed):
        return get_current_worker().node
    return active_message_pump.get(None)
