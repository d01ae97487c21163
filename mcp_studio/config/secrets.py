"""The texts of a server's entry, and the secrets that they hold in clear."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import fields, replace
from typing import Any, NamedTuple, cast
from urllib.parse import unquote

from mcp_studio.config.model import Auth, Root, Sandbox, ServerConfig, Tls
from mcp_studio.config.servers import FILED, file_of
from mcp_studio.redact import MARK, Redactor, is_secret_name

_TEXTS = "command cwd url args env headers headers_command roots auth tls sandbox capabilities client_info".split()


def map_texts(server: ServerConfig, change: Callable[[str, str], str]) -> ServerConfig:
    """Replace every text of the entry that is not empty by `change(key, text)`.

    A key is `url`, `args[2]`, `headers.Authorization`, `auth.client_secret` or `capabilities.experimental.x[0]`.
    """

    def mapped(key: str, value: Any) -> Any:
        if isinstance(value, str):
            return change(key, value) if value else value
        if isinstance(value, Root):
            return replace(value, uri=mapped(key, value.uri))
        if isinstance(value, (Auth, Tls, Sandbox)):
            names = [one.name for one in fields(value)]
            return replace(value, **{name: mapped(f"{key}.{name}", getattr(value, name)) for name in names})
        if isinstance(value, Mapping):
            return {name: mapped(f"{key}.{name}", item) for name, item in cast("Mapping[str, Any]", value).items()}
        if isinstance(value, (list, tuple)):
            items = [mapped(f"{key}[{number}]", item) for number, item in enumerate(cast("list[Any]", value))]
            return tuple(items) if isinstance(value, tuple) else items
        return value

    return replace(server, **{key: mapped(key, getattr(server, key)) for key in _TEXTS})


def texts(server: ServerConfig) -> list[tuple[str, str]]:
    """Key and text of every text that is not empty."""
    found: list[tuple[str, str]] = []
    map_texts(server, lambda key, text: found.append((key, text)) or text)
    return found


def secret_values(server: ServerConfig) -> Iterator[str]:
    """The secrets that an entry holds in clear; those of a URL also unquoted."""
    for _, text, (start, end, _) in _spans(server):
        yield from dict.fromkeys((text[start:end], unquote(text[start:end])))


SCHEMED = re.compile(r"([A-Za-z][\w-]{0,30}) +(\S.*)", re.DOTALL)
"""A credential after the name of its scheme, such as `Bearer abc` (RFC 9110 11.4)."""


_SECRET_FLAG = r"--?([A-Za-z][\w-]*)(=)?"


_ARGUMENT = r"(?i)(?:--?)?(?:header[= ])?([A-Za-z_][\w-]*)(?:=|: ?)(?!//)"


_USERINFO = r"://(?:[^/?#@:\s]*:)?([^/?#@\s]+)@"


_PARAMETER = r"[?&]([^=&#]+)=([^&#]+)"


class ClearSecret(NamedTuple):
    """A secret in clear in an entry, which may be moved to the secret store."""

    key: str
    """The key of the text: `headers.Authorization`, `args[2]`."""
    start: int
    end: int
    """The span of the secret in the text: `Bearer ` before it stays."""
    value: str
    """The secret itself."""
    name: str
    """A name to store the secret under; the same for a secret that occurs several times."""

    def __repr__(self) -> str:
        """Omits the secret, because the text may become part of an error."""
        return f"ClearSecret({self.key!r}, {self.start}, {self.end}, name={self.name!r})"


def offers(server: ServerConfig) -> tuple[ClearSecret, ...]:
    """The secrets in clear in an entry, as it is written."""
    entry = server.written or server
    names, found = dict[str, str](), list[ClearSecret]()
    for key, text, (start, end, word) in _spans(entry):
        if "${" not in text:  # a text with references needs no other
            name = names.setdefault(text[start:end], _suggested(entry.name, key, word, names.values()))
            found.append(ClearSecret(key, start, end, text[start:end], name))
    return tuple(found)


def placed(server: ServerConfig, chosen: Iterable[ClearSecret]) -> ServerConfig:
    """The entry with `${keyring:NAME}` in place of the chosen secrets; `config.expand.effective` makes it startable
    again.

    The caller may rename an offer before (`offer._replace(name=…)`).

    Raises:
        KeyError: an offer belongs to another entry.
    """
    entry = server.written or server
    now = dict(texts(entry))
    for offer in sorted(chosen, key=lambda one: one.start, reverse=True):
        text = now[offer.key]
        now[offer.key] = f"{text[: offer.start]}${{keyring:{offer.name}}}{text[offer.end :]}"
    return replace(map_texts(entry, lambda key, _: now[key]), written=None, secrets=())


_Span = tuple[int, int, str]
"""Start and end of a secret in a text, and a word for its name where the key does not tell it."""


def _spans(entry: ServerConfig) -> Iterator[tuple[str, str, _Span]]:
    """Key, text and span of each secret."""
    redactor, waiting = Redactor(), ""
    for key, text in texts(entry):
        kind, _, name = key.partition(".")
        spans: list[_Span] = []
        if key.startswith(("args[", "headers_command[")):
            flag = re.match(_SECRET_FLAG, text)
            spans = [(0, len(text), waiting)] if waiting and not flag else _in_argument(text)
            waiting = flag[1] if flag and not flag[2] and is_secret_name(flag[1]) else ""
        elif kind in ("env", "headers", "auth", "tls"):
            spans = _named(kind, name, text)
        if not spans and "://" in text:
            spans = _in_url(text)
        if not spans and redactor.text(text) == MARK:  # the whole text has the shape of a token
            spans = [(0, len(text), "token" if kind.startswith("args[") else "")]
        yield from ((key, text, span) for span in spans if span[1] > span[0])


def _in_argument(text: str) -> list[_Span]:
    """The secret in `--token=…`, `TOKEN=…` (a container's variable) or `Authorization: …` (a header to pass on)."""
    found = re.match(_ARGUMENT, text)
    if not found or not is_secret_name(found[1]):
        return []
    schemed = SCHEMED.fullmatch(text, found.end()) if found[1].lower().endswith("authorization") else None
    return [(*schemed.span(2), found[1]) if schemed else (found.end(), len(text), found[1])]


def _named(kind: str, name: str, text: str) -> list[_Span]:
    if kind == "auth" and name in FILED:
        return [] if file_of(text) else [(0, len(text), "")]
    if not is_secret_name(name) or (kind == "auth" and not name.endswith("client_secret")):
        return []
    schemed = SCHEMED.fullmatch(text) if kind == "headers" and name.lower().endswith("authorization") else None
    return [(*schemed.span(2), "") if schemed else (0, len(text), "")]


def _in_url(text: str) -> list[_Span]:
    """The secrets of a URL: the password or token before its host, and parameters with secret names."""
    found = [(*one.span(1), "password") for one in re.finditer(_USERINFO, text)]
    return found + [(*one.span(2), one[1]) for one in re.finditer(_PARAMETER, text) if is_secret_name(one[1])]


def _suggested(server: str, key: str, word: str, used: Collection[str]) -> str:
    """A name for a secret: `github` and `headers.Authorization` give `github-authorization`; a number avoids twins."""
    plain = re.sub(r"[^a-z0-9]+", "-", f"{server} {word or key.partition('.')[2] or key}".lower()).strip("-")
    name = plain[:60].strip("-") or "secret"
    numbered = (f"{name}-{number}" for number in range(2, 10_000))
    return next(free for free in (name, *numbered) if free not in used)
