"""The page that a browser shows after signing in: it loads nothing, runs nothing, and tells nobody where it was."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from http import HTTPStatus

from mcp_studio.safetext import safe

_HTML = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>{title} · mcp-studio</title>
<style>body{{font:1.1em system-ui,sans-serif;max-width:36em;margin:15vh auto;padding:0 1em}}</style>
</head><body><h1>{title}</h1><p>{text}</p></body></html>
"""
_HEADERS = (
    ("Content-Type", "text/html; charset=utf-8"),
    # The address of this page holds the code.
    ("Referrer-Policy", "no-referrer"),
    ("Cache-Control", "no-store"),
    (
        "Content-Security-Policy",
        "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    ),
    ("X-Content-Type-Options", "nosniff"),
    ("Connection", "close"),
)


def page(status: int, title: str, text: str, headers: Sequence[tuple[str, str]] = ()) -> bytes:
    """A whole HTTP response; title and text may quote anybody."""
    body = _HTML.format(title=escape(safe(title, 200)), text=escape(safe(text, 1_000))).encode("utf-8", "replace")
    lines = [*_HEADERS, *headers, ("Content-Length", str(len(body)))]
    head = "".join(f"{name}: {value}\r\n" for name, value in lines)
    return f"HTTP/1.1 {status} {HTTPStatus(status).phrase}\r\n{head}\r\n".encode("ascii") + body
