"""`[servers.NAME.auth]`: how to sign in to one server, checked as a whole.

All of it can be left out: a server that wants a person to sign in says where and how.
"""

from __future__ import annotations

import re
from dataclasses import fields, replace
from typing import Any, get_args

from mcp_studio.config.model import Auth, AuthKind
from mcp_studio.config.table import Table

KINDS: tuple[AuthKind, ...] = tuple(kind for kind in get_args(AuthKind) if kind)
METHODS = ("none", "client_secret_basic", "client_secret_post", "private_key_jwt")
"""How a client shows itself at a token endpoint (RFC 7591 2; OpenID Connect Core 9)."""
ALGORITHMS = ("ES256", "ES384", "ES512", "RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "EdDSA", "ES256K")
"""How a private key signs (RFC 7518 3.1, RFC 8037, RFC 8812)."""
HOSTS = ("127.0.0.1", "localhost")
"""Where a browser is sent back to: this machine, by one of its two names (RFC 8252 7.3, 8.3)."""
FIELDS = tuple(item.name for item in fields(Auth))
SECRET = ("client_secret", "idp_client_secret")
"""Keys whose values are secrets."""
FILED = ("key", "assertion", "idp_id_token")
"""Keys whose values are secrets, or name the file that one is in."""
NEEDED: dict[str, tuple[str, ...]] = {
    "client_credentials": ("client_id", "client_secret"),
    "private_key_jwt": ("client_id", "key"),
    "enterprise": ("client_id", "idp_token_endpoint", "idp_client_id", "idp_id_token"),
    "workload": ("assertion",),
}
"""What each grant without a person cannot do without."""
_BARE = Auth()
_INLINE = r"-----BEGIN |eyJ[\w-]*\.[\w-]*\.[\w-]*\Z|\s*\{"
_SCOPE = r"[!#-\[\]-~]+\Z"
_HTTPS = r"https://[^\s/?#@]+(?:[/?][^\s#]*)?\Z|\$\{"
_LOOPBACK = r"http://(?:127(?:\.\d+){3}|localhost|\[::1\])(?::\d+)?(?:[/?][^\s#]*)?\Z"


def read_auth(table: Table) -> Auth:
    """The inner table `auth`, with problems noted where it is none that can be used."""
    before = len(table.problems)
    inner = table.inner("auth")
    auth = Auth(
        kind=inner.take_word("kind", "", KINDS),
        scopes=_scopes(inner),
        method=inner.take_text("method", "", METHODS),
        redirect_port=_port(inner),
        redirect_host=inner.take_text("redirect_host", _BARE.redirect_host, HOSTS),
        algorithm=inner.take_text("algorithm", _BARE.algorithm, ALGORITHMS),
        dpop=inner.take_flag("dpop"),
        assume_pkce=inner.take_flag("assume_pkce"),
    )
    texts = [key for key in FIELDS if isinstance(getattr(_BARE, key), str) and key not in _CHECKED]
    auth = replace(auth, **{key: inner.take_text(key) for key in texts})
    inner.refuse_rest()
    if len(table.problems) == before:
        for key, message, hint in _wrong(auth):
            inner.problem(key, message, hint)
    return auth


_CHECKED = ("kind", "method", "redirect_host", "algorithm")


def auth_table(auth: Auth) -> dict[str, Any]:
    """As it is written, without what is the default anyway."""
    given = {key: getattr(auth, key) for key in FIELDS if getattr(auth, key) != getattr(_BARE, key)}
    return {key: list(value) if isinstance(value, tuple) else value for key, value in given.items()}


def file_of(value: str) -> str:
    """The file that a `key`, `assertion` or `idp_id_token` is in; empty where the value is the thing itself."""
    return "" if not value or re.match(_INLINE, value) else value


def secrets_of(auth: Auth) -> list[str]:
    """The values in it that are secrets."""
    return [
        *(value for key in SECRET if (value := getattr(auth, key))),
        *(value for key in FILED if (value := getattr(auth, key)) and not file_of(value)),
    ]


def _wrong(auth: Auth) -> list[tuple[str, str, str]]:
    """Key, sentence and hint of everything that does not go together."""
    return [*_missing(auth), *_pointless(auth), *_addresses(auth)]


def _missing(auth: Auth) -> list[tuple[str, str, str]]:
    found = [
        (key, f"is needed for the kind `{auth.kind}`.", "")
        for key in NEEDED.get(auth.kind, ())
        if not getattr(auth, key)
    ]
    if found:
        return found
    if auth.client_secret and not auth.client_id:
        found.append(("client_id", "is missing: a client_secret belongs to one.", ""))
    if auth.method.startswith("client_secret") and auth.client_id and not auth.client_secret:
        found.append(("client_secret", f"is needed for the method `{auth.method}`.", ""))
    if auth.method == "private_key_jwt" and not auth.key:
        found.append(("key", "is needed for the method `private_key_jwt`.", ""))
    return found


def _pointless(auth: Auth) -> list[tuple[str, str, str]]:
    """Keys that only another kind uses: whoever writes them means that kind."""
    found: list[tuple[str, str, str]] = []
    if auth.kind == "none":
        return found
    if auth.assertion and auth.kind != "workload":
        found.append(("assertion", "is used by the kind `workload` alone.", 'Add kind = "workload".'))
    if auth.key and "private_key_jwt" not in (auth.kind, auth.method):
        found.append(("key", "is used by the kind or method `private_key_jwt` alone.", 'Add kind = "private_key_jwt".'))
    if auth.kind != "enterprise":
        given = [key for key in FIELDS if key.startswith("idp_") and getattr(auth, key)]
        found += [(key, "is used by the kind `enterprise` alone.", 'Add kind = "enterprise".') for key in given]
    return found


def _addresses(auth: Auth) -> list[tuple[str, str, str]]:
    """Secrets and codes are sent over https; in clear text only within this machine."""
    found: list[tuple[str, str, str]] = []
    for key in ("issuer", "idp_token_endpoint"):
        if (url := getattr(auth, key)) and not (re.match(_HTTPS, url) or re.match(_LOOPBACK, url)):
            found.append(
                (key, f"`{url}` is no https:// address.", "http:// is for this machine: 127.0.0.1, localhost.")
            )
    url = auth.client_metadata_url
    if url and not is_metadata_url(url):
        found.append(("client_metadata_url", f"`{url}` is no https:// address with a path.", ""))
    if not auth.account.isprintable():
        found.append(("account", "has characters in it that cannot be seen.", ""))
    return found


def is_metadata_url(url: str) -> bool:
    """Whether it can be that of a client id metadata document: https, with a path."""
    return url.startswith("${") or bool(re.match(r"https://[^\s/?#@]+/[^\s#]+\Z", url))


def _scopes(table: Table) -> tuple[str, ...]:
    """`scopes`: each is a word of its own (RFC 6749 3.3)."""
    scopes = table.take_texts("scopes")
    for number, scope in enumerate(scopes):
        if not (re.match(_SCOPE, scope) or "${" in scope):
            hint = "Write one scope per item." if " " in scope.strip() else ""
            table.problem(f"scopes[{number}]", f"`{scope}` is no scope.", hint)
    return tuple(dict.fromkeys(scopes))


def _port(table: Table) -> int:
    port = table.take_integer("redirect_port", 0, 0)
    if port > 65_535:
        table.problem("redirect_port", f"must be at most 65535, not {port}.")
        return 0
    return port
