"""Exporting a trace, or a part of it, and opening exported files; `formats` has the formats."""
