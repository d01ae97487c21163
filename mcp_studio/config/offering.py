"""Which values of an entry are secrets in clear, and the entry with references to kept secrets in their places.

`offers` says what could be kept, each secret under a free name; `vault.keyring.keep` keeps it; `placed` gives the entry
as it is to be saved then.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import NamedTuple

from mcp_studio.config.model import ServerConfig
from mcp_studio.config.places import texts, with_texts
from mcp_studio.redact import MARK, Redactor
from mcp_studio.secret_names import is_secret_name

SCHEMED = re.compile(r"([A-Za-z][\w-]{0,30}) +(\S.*)", re.DOTALL)
"""A credential after the name of its scheme, such as `Bearer abc` (RFC 9110 11.4)."""
_FLAG = re.compile(r"--?([A-Za-z][\w-]*)(=)?")
_ARGUMENT = re.compile(r"(?:--?)?(?:header[= ])?([A-Za-z_][\w-]*)(?:=|: ?)(?!//)", re.IGNORECASE)
_USERINFO = re.compile(r"://(?:[^/?#@:\s]*:)?([^/?#@\s]+)@")
_PARAMETER = re.compile(r"[?&]([^=&#]+)=([^&#]+)")
_INLINE = re.compile(r"-----BEGIN |eyJ[\w-]+\.")
_LONGEST = 60


class Offer(NamedTuple):
    """One secret that stands in clear in an entry."""

    key: str
    """Where: `headers.Authorization`, `args[2]`."""
    start: int
    end: int
    """What of the text there is the secret: `Bearer ` before it stays."""
    value: str
    """The secret itself."""
    name: str
    """A name to keep it under; the same for a secret that stands in several places."""

    def __repr__(self) -> str:
        """Without the secret: it may come into an error."""
        return f"Offer({self.key!r}, {self.start}, {self.end}, name={self.name!r})"


def offers(server: ServerConfig, taken: Iterable[str] = ()) -> tuple[Offer, ...]:
    """The secrets that stand in clear in an entry, as it is written.

    Args:
        taken: names that are in use already: another is suggested.
    """
    entry = server.written or server
    used = set(taken)
    names: dict[str, str] = {}
    found: list[Offer] = []
    known = dict(texts(entry))
    for key, span in _spans(entry):
        value = known[key][span.start : span.end]
        if value not in names:
            names[value] = _free(_suggested(entry.name, key, span.word), used)
            used.add(names[value])
        found.append(Offer(key, span.start, span.end, value, names[value]))
    return tuple(found)


def placed(server: ServerConfig, chosen: Iterable[Offer]) -> ServerConfig:
    """The entry with `${keyring:NAME}` where the chosen secrets stood; it has to be made startable again
    (`config.expand.effective`). Offers may be given other names before (`offer._replace(name=…)`).

    Raises:
        KeyError: an offer is of another entry.
    """
    entry = server.written or server
    now = dict(texts(entry))
    for offer in sorted(chosen, key=lambda one: one.start, reverse=True):
        text = now[offer.key]
        now[offer.key] = f"{text[: offer.start]}${{keyring:{offer.name}}}{text[offer.end :]}"
    before = dict(texts(entry))
    changed = with_texts(entry, {key: text for key, text in now.items() if text != before[key]})
    return replace(changed, written=None, secrets=())


class _Span(NamedTuple):
    start: int
    end: int
    word: str = ""
    """What it is called there, where the key does not say it."""


def _spans(entry: ServerConfig) -> Iterator[tuple[str, _Span]]:
    """Key and place of each secret; a text that refers to something already is left alone."""
    told = Redactor()
    waiting = ""
    for key, text in texts(entry):
        kind, _, name = key.partition(".")
        spans: list[_Span] = []
        if key.startswith("args["):
            flag = _FLAG.match(text)
            spans = [_Span(0, len(text), waiting)] if waiting and not flag else _in_argument(text)
            waiting = flag[1] if flag and not flag[2] and is_secret_name(flag[1]) else ""
        elif kind in ("env", "headers", "auth", "tls"):
            spans = _named(kind, name, text)
        if not spans and "://" in text:
            spans = _in_url(text)
        if not spans and told.text(text) == MARK:  # the shape of it is that of a token
            spans = [_Span(0, len(text), "token" if kind.startswith("args[") else "")]
        if "${" not in text:
            yield from ((key, span) for span in spans if span.end > span.start)


def _in_argument(text: str) -> list[_Span]:
    """`--token=…`, `TOKEN=…` (a variable of a container), `Authorization: …` (a header that is passed on)."""
    found = _ARGUMENT.match(text)
    if not found or not is_secret_name(found[1]):
        return []
    schemed = SCHEMED.fullmatch(text, found.end()) if found[1].lower().endswith("authorization") else None
    return [_Span(*schemed.span(2), found[1]) if schemed else _Span(found.end(), len(text), found[1])]


def _named(kind: str, name: str, text: str) -> list[_Span]:
    if kind == "auth" and name in ("key", "idp_id_token", "assertion"):  # else it is the file that one is in
        return [_Span(0, len(text))] if _INLINE.match(text) else []
    if not is_secret_name(name) or (kind == "auth" and not name.endswith("client_secret")):
        return []
    schemed = SCHEMED.fullmatch(text) if kind == "headers" and name.lower().endswith("authorization") else None
    return [_Span(*schemed.span(2)) if schemed else _Span(0, len(text))]


def _in_url(text: str) -> list[_Span]:
    """Whoever signs in by the address, and parameters of telling names."""
    found = [_Span(*one.span(1), "password") for one in _USERINFO.finditer(text)]
    return found + [_Span(*one.span(2), one[1]) for one in _PARAMETER.finditer(text) if is_secret_name(one[1])]


def _suggested(server: str, key: str, word: str) -> str:
    """`github` and `headers.Authorization` make `github-authorization`."""
    plain = re.sub(r"[^a-z0-9]+", "-", f"{server} {word or key.partition('.')[2] or key}".lower()).strip("-")
    return plain[:_LONGEST].strip("-") or "secret"


def _free(name: str, used: set[str]) -> str:
    numbered = (f"{name}-{number}" for number in range(2, 10_000))
    return next(free for free in (name, *numbered) if free not in used)
