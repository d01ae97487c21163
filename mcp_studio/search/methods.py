"""The methods of one index: which there are, which were made, and the threads that plug-ins have to themselves."""

from __future__ import annotations

import importlib
import threading
import time
from collections.abc import Callable
from concurrent import futures
from concurrent.futures import Future
from functools import cached_property, partial
from pathlib import Path
from typing import NamedTuple

from mcp_studio.config.model import Cjk
from mcp_studio.search import auto
from mcp_studio.search.found import MethodInfo
from mcp_studio.search.intake import CLOSED, Intake
from mcp_studio.search.known import Difference, Known
from mcp_studio.search.method import EVERYWHERE, Method, SearchProblem
from mcp_studio.search.plugins import Offer, entry_points
from mcp_studio.search.threads import Desk, Lane

OWN: tuple[tuple[str, str, str], ...] = (
    ("substring", "words anywhere, and names nearly right", "mcp_studio.search.substring:Substring"),
    ("regex", "a regular expression", "mcp_studio.search.regex:Regexes"),
    ("bm25", "words, by how much they tell (BM25 over fields)", "mcp_studio.search.bm25:Bm25"),
    ("okapi", "words, plain BM25 (rank_bm25)", "mcp_studio.search.okapi:Okapi"),
    ("semantic", "meaning", "mcp_studio.search.semantic:Semantic"),
    ("hybrid", "words and meaning", "mcp_studio.search.hybrid:Hybrid"),
)
"""Name, a few words for a person, and where it is."""
_SOME = 32
"""Entries whose vectors are looked for to know whether those of all are kept."""
_RECALLED = 5_000
"""Entries whose vectors are looked up for a single question, at 0.08 ms each."""
AUTO = MethodInfo(auto.NAME, "names, then words, then meaning")


class Kit(NamedTuple):
    """What our own methods are made with."""

    cache: Path | None = None
    """Where vectors are kept; None keeps none."""
    cjk: Cjk = "characters"


class Methods:
    """Makes methods when they are wanted.

    Args:
        known: what they are given.
        wake: wakes the thread that looks after our own.
        patience: waits as long as a question should go first.
        told: called in a thread when a method knows more by itself.
    """

    def __init__(
        self,
        known: Known,
        kit: Kit,
        *,
        wake: Callable[[], None],
        patience: Callable[[], None],
        told: Callable[[], None],
    ) -> None:
        self._known = known
        self._wake = wake
        self._patience = patience
        self._kit = kit
        self._told = told
        self._offers = {name: Offer(name, title, partial(self._make, name, place)) for name, title, place in OWN}
        self._complete = False
        self._closed = False
        self._turn = threading.Lock()
        """Held for a moment: the loop waits for it."""
        self._looking = threading.Lock()
        """Held while packages are looked through."""
        self._intakes: dict[str, Intake] = {}
        self._apart: dict[str, tuple[Lane, Desk]] = {}
        """Threads of plug-ins: one that hangs holds up itself alone."""

    def infos(self, *, all: bool = False) -> tuple[MethodInfo, ...]:
        """Those that are known so far, our own ones first; `all` looks for the rest, which is slow the first time."""
        if all:
            self.search_plugins()
            _ = self.meaningless
        return (AUTO, *(self._info(offer) for offer in tuple(self._offers.values())))

    def has(self, name: str) -> bool:
        """Whether a name is known so far."""
        return name == AUTO.name or name in self._offers

    def search_plugins(self) -> None:
        """Look for methods of packages, once; slow."""
        with self._looking:
            if not self._complete:
                self._offers |= entry_points((AUTO.name, *self._offers))
                self._complete = True

    def want(self, name: str) -> Intake:
        """A method, made soon if it was not yet.

        Raises:
            SearchProblem: there is none of that name.
        """
        offer = self._offers.get(name)
        if offer is None:
            known = ", ".join((AUTO.name, *self._offers))
            raise SearchProblem(f"There is no search method {name!r}.", hint=f"There are {known}.")
        with self._turn:
            if self._closed:
                raise SearchProblem(CLOSED)
            intake = self._intakes.get(name)
            if intake is None:
                intake = self._intakes[name] = Intake(offer, self._known)
                if offer.package:
                    lane = Lane(f"search {name}", intake.step, self._patience)
                    self._apart[name] = lane, Desk(f"search {name} questions")
        if name in self._apart:
            self._apart[name][0].wake()
        else:
            self._wake()
        return intake

    def made(self, name: str) -> Intake | None:
        """A method that was wanted before."""
        return self._intakes.get(name)

    def desk(self, name: str) -> Desk | None:
        """Where a plug-in is asked; None for our own."""
        return self._apart[name][1] if name in self._apart else None

    def step(self) -> bool:
        """Give each of our own a batch."""
        own = [intake for intake in tuple(self._intakes.values()) if not intake.offer.package]
        return any([intake.step() for intake in own])

    def tell(self, difference: Difference) -> None:
        """What there is has changed."""
        for intake in tuple(self._intakes.values()):
            intake.change(difference)
        for lane, _ in tuple(self._apart.values()):
            lane.wake()

    def close(self, within: float) -> None:
        """End the threads of plug-ins and whatever waits for a method; the same time is for all of them."""
        end = time.monotonic() + within
        with self._turn:
            self._closed = True
        closing: list[Future[None]] = []
        for name, intake in tuple(self._intakes.items()):
            close = intake.stop()
            if name not in self._apart:
                close()
                continue
            lane, desk = self._apart[name]
            lane.close(0)
            closing.append(desk.ask(partial(_after, lane, within, close)))
        futures.wait(closing, within)
        for lane, desk in tuple(self._apart.values()):
            lane.close(max(0.0, end - time.monotonic()))
            desk.close(max(0.0, end - time.monotonic()))

    def _info(self, offer: Offer) -> MethodInfo:
        intake = self._intakes.get(offer.name)
        problem = str(intake.problem) if intake is not None and intake.problem is not None else ""
        if offer.name in ("semantic", "hybrid") and not problem:
            problem = self.__dict__.get("meaningless", "")
        return MethodInfo(offer.name, offer.title, not problem, problem, offer.package)

    def kept(self) -> float:
        """The share of entries whose vectors are kept from before, by a few of them; slow, but loads no model.

        Of more entries than can be read in the time that one question has, it is none.
        """
        if self._kit.cache is None or self._known.count(EVERYWHERE) > _RECALLED or self.meaningless:
            return 0.0
        return importlib.import_module("mcp_studio.search.embedder").kept(self._kit.cache, self._known.some(_SOME))

    @cached_property
    def meaningless(self) -> str:
        """Why nothing can be compared by meaning, and what to do about it; empty where it can. Slow, the first time."""
        return importlib.import_module("mcp_studio.search.model").available()[1]

    def _make(self, name: str, place: str) -> Method:
        module, _, found = place.partition(":")
        kind = getattr(importlib.import_module(module), found)
        if name == "semantic":
            meaning = kind(self._kit.cache)
            meaning.changed.connect(lambda _: self._told())
            return meaning
        if name in ("bm25", "okapi"):
            return kind(self._kit.cjk)
        if name == "hybrid":
            meant = self.want("semantic")
            while meant.method is None:  # both are made in this thread
                if meant.problem is not None:
                    raise meant.problem
                meant.step()
            return kind(self.want("bm25").ask, meant.method)
        return kind()


def _after(lane: Lane, within: float, close: Callable[[], None]) -> None:
    """Close a method that is not being given anything any more: calls never overlap."""
    lane.close(within)
    close()
