"""Sessions on disk: what was recorded, while it is being recorded and afterwards."""
