"""What servers ask of the person."""
from __future__ import annotations
class Asking:
    def __init__(self, screen): self._screen=screen
    def inbox_changed(self): pass
    def reopen(self): pass
