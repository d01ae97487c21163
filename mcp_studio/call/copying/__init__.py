"""A call in the formats of other programs, and back: pure texts; nothing is sent or evaluated."""
