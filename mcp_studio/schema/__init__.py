"""JSON Schema to fields, text to values, values to problems: pure functions, and a process for whole schemas."""
