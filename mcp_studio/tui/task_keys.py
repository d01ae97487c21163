"""The actions of the list of tasks and of the dialog about one; part of the table in `actions`."""

from __future__ import annotations

LIST = (
    ("task-open", "!enter", "open_task", "How it went so far, and its result", "Details"),
    ("task-poll", "r", "poll_task", "Ask for it now", "Poll"),
    ("task-cancel", "x", "cancel_task", "Ask the server to cancel it", "Cancel"),
    ("task-remove", "d", "remove_task", "Take it off the list, once nothing more will come of it", ""),
    ("task-copy", "y", "copy_task", "Copy its id", ""),
)
DIALOG = (
    ("task-result", "enter,o", "show_result", "Its result in the result pane", "Result"),
    ("task-poll-now", "r", "poll", "Ask for it now", "Poll"),
    ("task-cancel-now", "x", "cancel_task", "Ask the server to cancel it", "Cancel"),
    ("task-copy-all", "y", "copy", "Copy all that is shown", ""),
    ("task-close", "escape,q", "close", "Back", "Close"),
)
MAIN = (
    ("as-task", "alt+k", "as_task", "Run the open tool as a task, or not", ""),
    ("background", "alt+g", "background", "Let the task that runs here go on in the background", ""),
)
