"""A call as other programs write it, and back: pure texts, nothing is sent and nothing evaluated."""
