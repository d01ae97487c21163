"""JSON Schema to fields, text to values, values to problems: pure functions, and one worker for whole schemas."""
