"""Recorded calls, sent again: which of them, what is sent, and how the answers differ."""
