"""A trace, or what was chosen of it, out of the studio and in again: see `formats` for what there is."""
