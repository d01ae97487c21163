"""Fields of a JSON document that somebody else wrote, read one by one: a wrong one is a sentence that names it."""

from __future__ import annotations

from codecs import BOM_UTF8, BOM_UTF16_BE, BOM_UTF16_LE

from mcp_studio.auth.discovery import check_url
from mcp_studio.auth.failed import AuthFailed, said
from mcp_studio.jsontext import Json, JsonProblem, items_of, loads, mapping

MOST = 200
"""Entries of a list that are read."""
LONGEST = 2_000
"""Characters of a text that are read."""
_MISSING = object()


def body_of(data: bytes, *, most: int, values: int) -> Json:
    """The JSON of an answer; a byte order mark before it is overlooked (RFC 8259 8.1), as files of Windows have one.

    Raises:
        JsonProblem, LimitExceeded: as `jsontext.loads`.
    """
    if data[:2] in (BOM_UTF16_LE, BOM_UTF16_BE):
        raise JsonProblem("it is written in UTF-16, and JSON in UTF-8")
    return loads(data.removeprefix(BOM_UTF8), most=most, values=values)


class Fields:
    """One document. Fields that are only of use are left out where they are wrong, and `notes` says so.

    Attributes:
        raw: the document.
        what: names it, in the middle of a sentence: `the metadata at https://…`.
        server: the server that signing in is for.
        notes: what is wrong with it though it can be used: sentences by the name of the field.
    """

    def __init__(self, raw: Json, what: str, server: str) -> None:
        self.raw = mapping(raw)
        self.what = what
        self.server = server
        self.notes: dict[str, str] = {}

    def text(self, name: str, should: str) -> str:
        """A text that has to be there and not empty. `should` ends a sentence: what the field has to be.

        Raises:
            AuthFailed: it is not, or is too long.
        """
        value = self.raw.get(name, _MISSING)
        if isinstance(value, str) and 0 < len(value) <= LONGEST:
            return value
        raise self.wrong(name, should)

    def wrong(self, name: str, should: str) -> AuthFailed:
        """What is raised for a field."""
        return AuthFailed(f"{self._came(name)}.", hint=f"{name} has to be {should}.")

    def note(self, name: str, should: str) -> None:
        """Remember that a field is wrong, and left out."""
        self.notes[name] = f"{self._came(name)}; it has to be {should}, and was left out."

    def _came(self, name: str) -> str:
        value = self.raw.get(name, _MISSING)
        if value is _MISSING:
            return f"{name} is missing in {self.what}"
        return f"{name} in {self.what} is {said(value)}"

    def url(self, name: str, should: str) -> str:
        """An address that may be used for signing in and has to be there (`discovery.check_url`).

        Raises:
            AuthFailed: it is not there, or may not be used.
        """
        return check_url(self.text(name, should), self.server, f"{name} in {self.what}")

    def maybe_url(self, name: str) -> str:
        """An address that may be missing: empty where it is, or may not be used."""
        value = self.raw.get(name)
        if value is None or value == "":
            return ""
        if not isinstance(value, str):
            self.note(name, "an https:// URL")
            return ""
        try:
            return check_url(value, self.server, f"{name} in {self.what}")
        except AuthFailed as problem:
            self.notes[name] = f"{problem.message} {problem.hint}"
            return ""

    def texts(self, name: str) -> tuple[str, ...] | None:
        """A list of texts that may be missing: None where it is, or is none."""
        value = self.raw.get(name)
        if value is None:
            return None
        if not isinstance(value, list):
            self.note(name, "a list of strings")
            return None
        found = items_of(value)
        kept = tuple(dict.fromkeys(one for one in found[:MOST] if isinstance(one, str) and 0 < len(one) <= LONGEST))
        if len(found) > MOST:
            self.notes[name] = f"{name} in {self.what} has {len(found):,} entries; the first {MOST} were read."
        elif any(not isinstance(one, str) for one in found):
            wrong = next(one for one in found if not isinstance(one, str))
            self.notes[name] = f"{name} in {self.what} holds {said(wrong)}; it has to be a list of strings."
        return kept

    def flag(self, name: str) -> bool:
        """True or false; missing is false.

        Raises:
            AuthFailed: it is anything else: what is safe depends on it, so that nothing is guessed.
        """
        value = self.raw.get(name)
        if value is None or isinstance(value, bool):
            return bool(value)
        raise self.wrong(name, "true or false")
