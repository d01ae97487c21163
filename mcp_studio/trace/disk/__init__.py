"""Recorded sessions on disk, during and after the recording."""
