"""The actions of the trace: marks, comments, comparing, sessions; part of the table in `actions`."""

from __future__ import annotations

_MARK = "Mark the message, or no longer"
_COMMENT = "Comment on the message"
_COMPARE = "Compare: first this message, then with another"
_EDIT = "Edit the call in its form, and send it again"
_AGAIN = "Send it again as it was, and compare the answers"

MAIN = (("sessions", "alt+o", "sessions", "Open a session: an earlier one, or a file", ""),)
TRACE = (
    ("trace-mark", "m", "mark", _MARK, "Mark"),
    ("trace-comment", "M", "comment", _COMMENT, ""),
    ("trace-noted-next", "n", "noted(1)", "Next message with a mark or a comment", ""),
    ("trace-noted-previous", "N", "noted(-1)", "Message with a mark or a comment before", ""),
    ("trace-other", "o", "other", "From a request to its answer, and back", ""),
    ("trace-new", "u", "first_new", "The first message that came since you looked", ""),
    ("trace-compare", "D", "compare", _COMPARE, ""),
    ("trace-replay-edit", "r", "replay_edit", _EDIT, ""),
    ("trace-replay-now", "R", "replay_now", _AGAIN, "Again"),
    ("trace-replay-many", "P", "replay_many", "Send again what is marked or filtered, or everything", ""),
    ("trace-sessions", "S", "sessions", "Open a session: an earlier one, or a file", ""),
    ("trace-live", "L", "live", "Back to what is being recorded now", ""),
    ("trace-export", "E,ctrl+e", "export", "Export: this exchange, what is marked or filtered, or everything", ""),
)
PART = (
    ("part-mark", "m", "mark", _MARK, "Mark"),
    ("part-comment", "M", "comment", _COMMENT, ""),
    ("part-compare", "D", "compare", _COMPARE, ""),
    ("part-replay-edit", "r", "replay_edit", _EDIT, ""),
    ("part-replay-now", "R", "replay_now", _AGAIN, ""),
)
DETAIL = (
    ("detail-mark", "m", "mark", _MARK, "Mark"),
    ("detail-comment", "M", "comment", _COMMENT, ""),
    ("detail-compare", "D", "compare", _COMPARE, ""),
    ("detail-replay-edit", "r", "replay_edit", _EDIT, ""),
    ("detail-replay-now", "R", "replay_now", _AGAIN, "Again"),
    ("detail-later", "J", "step(1)", "The next message of the trace", ""),
    ("detail-earlier", "K", "step(-1)", "The message before", ""),
)
COMMENT = (
    ("comment-keep", "!ctrl+j,alt+enter", "keep", "Keep the comment; an empty one goes", "Keep"),
    ("comment-close", "escape", "close", "Back, as it was", "Back"),
)
DIFFERENCE = (
    ("difference-next", "n", "next_difference(1)", "Next difference", "Next"),
    ("difference-previous", "N", "next_difference(-1)", "Difference before", ""),
    ("difference-turn", "right_square_bracket,tab", "turn(1)", "Requests, or answers", "Part"),
    ("difference-turn-back", "left_square_bracket,shift+tab", "turn(-1)", "The part before", ""),
    ("difference-ignore", "i", "ignore", "Ignore ids and times, or count them too", "Ids and times"),
    ("difference-fold", "z", "fold", "Show what is the same, or put it away", "Same"),
    ("difference-copy", "y", "copy", "Copy the differences, a line each", "Copy"),
    ("difference-close", "escape,q", "close", "Back", "Close"),
)
SESSIONS = (
    ("session-open", "!enter", "open", "Open it in the trace", "Open"),
    ("session-file", "o", "file", "Open a file: a session or a bundle", "File"),
    ("session-delete", "d", "delete", "Delete it, after asking", "Delete"),
    ("session-copy", "y", "copy", "Copy the path of its file", ""),
    ("session-close", "escape,q", "close", "Back", "Close"),
)
PATH = (
    ("path-take", "!enter,ctrl+j", "take", "Open the file, or go into the folder", "Open"),
    ("path-complete", "!tab", "complete", "Complete the path", "Complete"),
    ("path-close", "escape", "close", "Back", "Back"),
)
EXPORT = (
    ("export-write", "!enter,ctrl+j", "write", "Export it", "Export"),
    ("export-close", "escape", "close", "Stop, or back", "Back"),
)
REPLAY = (
    ("replay-open", "!enter", "open", "Both answers, with what differs", "Compare"),
    ("replay-copy", "y", "copy", "Copy how it went, a line for each request", "Copy"),
    ("replay-close", "escape,q", "close", "Stop; once it has ended, back", "Stop, back"),
)
REPLAY_CHOICE = (
    ("replay-begin", "!enter,ctrl+j", "begin", "Begin", "Begin"),
    ("replay-leave", "escape,q", "close", "Back", "Back"),
)
