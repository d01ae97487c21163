"""The messages that crossed the wire, in order, and their meaning."""
