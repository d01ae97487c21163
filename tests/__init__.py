"""Tests mirror the package; `support` holds what they share, `servers` the helper servers they start."""
