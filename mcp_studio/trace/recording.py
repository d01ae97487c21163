"""What readers need of a trace, whether it still grows, is a past session, or came out of a file."""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from typing import NamedTuple, Protocol

from mcp_studio.trace.columns import Columns
from mcp_studio.trace.message import WireMessage


class Block(NamedTuple):
    """The bodies of some neighbouring entries in one piece of memory."""

    first: int
    """The number of the first of them."""
    ends: array[int]
    """Where each body ends in `data`; a large one, which stands elsewhere, has no bytes here."""
    data: bytes
    large: tuple[int, ...] = ()
    """The numbers of those whose bodies stand elsewhere: see `Reader.body`."""


class Reader(Protocol):
    """Reads bodies; to be used by one thread only, and closed there."""

    def blocks(self, below: int) -> Iterator[Block]:
        """All bodies of entries with numbers under `below`, the newest block first."""
        ...

    def body(self, number: int) -> bytes:
        """The body of one entry; empty where it is not kept any more."""
        ...

    def close(self) -> None:
        """No more reading."""
        ...


class Recording(Protocol):
    """Entries numbered without gaps; index 0 is the entry with the number `first_number`."""

    @property
    def columns(self) -> Columns:
        """What is known of every entry; to be asked for again rather than kept."""
        ...

    @property
    def total(self) -> int:
        """The number of the newest entry."""
        ...

    @property
    def revision(self) -> int:
        """Changes with everything that changes."""
        ...

    @property
    def first_number(self) -> int:
        """The number of the oldest entry kept."""
        ...

    def __len__(self) -> int: ...

    def __getitem__(self, index: int, /) -> WireMessage: ...

    def entry(self, number: int) -> WireMessage | None:
        """The entry with a number, its span with it; None when it is not kept."""
        ...

    async def body(self, entry: WireMessage) -> bytes:
        """The whole body, also of what is large and on disk, without blocking the event loop."""
        ...

    def reader(self) -> Reader:
        """For another thread; made on the event loop, it knows all entries up to that moment."""
        ...

    def mark(self, number: int, on: bool) -> None:
        """Mark an entry, or no longer."""
        ...

    def comment(self, number: int, text: str) -> None:
        """Keep a comment on an entry; empty removes it."""
        ...

    def comment_on(self, number: int) -> str:
        """The comment on an entry, or nothing."""
        ...
