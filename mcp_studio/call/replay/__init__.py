"""Recorded calls, sent again: their selection, their requests, and the differences of the answers."""
