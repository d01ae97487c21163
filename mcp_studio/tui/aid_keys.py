"""The rows of the table of actions that help with filling fields and forms; part of the table in `actions`."""

from __future__ import annotations

Row = tuple[str, str, str, str, str]

FORM: tuple[Row, ...] = (
    ("field-aids", "alt+h", "aid('')", "What helps with this field: date, file, editor, paste, examples", ""),
    ("field-editor", "alt+e", "aid('editor')", "Edit the field in your editor", ""),
    ("field-editor-whole", "alt+shift+e", "aid('editor-whole')", "Edit the whole value in your editor", ""),
    ("field-file", "alt+shift+f", "aid('file')", "Put the contents of a file into the field", ""),
    ("field-paste", "alt+p", "aid('paste')", "Paste JSON or text, seeing first what it becomes", ""),
    ("field-insert", "alt+i", "aid('insert')", "Put in what fits the field: a date, a UUID, a file", ""),
    ("field-reveal", "alt+q", "aid('reveal')", "Show what a secret field holds, or hide it again", ""),
)
JSON: tuple[Row, ...] = (("json-editor", "alt+e,alt+shift+e", "outside", "Edit the whole in your editor", ""),)
WHEN: tuple[Row, ...] = (
    ("when-take", "!enter,ctrl+j,alt+enter", "take", "Take it", "Take"),
    ("when-zone", "!alt+z", "zone", "Zone: local time or Z (UTC)", ""),
    ("when-kind", "!alt+k", "kind", "Date, time, both or a duration, where the schema does not say", ""),
    ("when-left", "left", "step(-1, 0)", "The day before; of the time the part before", ""),
    ("when-right", "right", "step(1, 0)", "The next day; of the time the next part", ""),
    ("when-up", "up", "step(0, -1)", "A week before; of the time one more", ""),
    ("when-down", "down", "step(0, 1)", "A week later; of the time one less", ""),
    ("when-month-before", "pageup", "turn(-1)", "A month before; of the time a larger step up", ""),
    ("when-month-after", "pagedown", "turn(1)", "A month later; of the time a larger step down", ""),
    ("when-year-before", "ctrl+pageup,shift+pageup", "turn(-12)", "A year before", ""),
    ("when-year-after", "ctrl+pagedown,shift+pagedown", "turn(12)", "A year later", ""),
    ("when-first", "home", "edge(True)", "The first day of the month", ""),
    ("when-last", "end", "edge(False)", "The last day of the month", ""),
    ("when-close", "escape", "close", "Back, as it was", "Back"),
)
FILE: tuple[Row, ...] = (
    ("file-take", "!enter,ctrl+j,alt+enter", "take", "Take the file, or go into the folder", "Take"),
    ("file-complete", "!tab", "complete", "Complete what is typed", "Complete"),
    ("file-shape", "!ctrl+t", "shape", "As text, as base64, or as a data: URI", "As"),
    ("file-hidden", "!alt+h", "hidden", "Show hidden files, or no longer", ""),
    ("file-close", "escape", "close", "Back, as it was", "Back"),
)
PASTE: tuple[Row, ...] = (
    ("paste-take", "!ctrl+j,alt+enter,ctrl+enter", "take", "Put it into the field", "Take"),
    ("paste-reading", "!ctrl+t", "reading", "Read it as something else: JSON, text, lines", "Read as"),
    ("paste-close", "escape", "close", "Back, as it was", "Back"),
)
CALL: tuple[Row, ...] = (
    ("call-example", "alt+x", "example", "Fill with an example that is made up from the schema", ""),
)
EXAMPLE: tuple[Row, ...] = (
    ("example-take", "!enter,ctrl+j,alt+enter", "take", "Fill the form with it", "Fill"),
    ("example-other", "!n,ctrl+t", "other", "The same with other values: the next seed", "Others"),
    ("example-turn", "!tab", "turn", "Go to the value, or back to the examples", "Value"),
    ("example-copy", "y", "copy", "Copy the value", "Copy"),
    ("example-close", "escape,q", "close", "Back, as it was", "Back"),
)
