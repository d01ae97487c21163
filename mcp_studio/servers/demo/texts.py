"""Long texts, and texts that try to do something to a terminal."""

from __future__ import annotations

from typing import Any

PAGE = """\
<html>
  <head><title>The Paper Lantern</title></head>
  <body style="background:#20285a;color:#ffb74d;font:24px serif;text-align:center">
    <h1>The lantern is lit</h1>
    <p id="clock"></p>
    <script>document.getElementById("clock").textContent = new Date().toLocaleTimeString()</script>
  </body>
</html>
"""
"""The page of a tool (MCP Apps)."""

MARKDOWN = """\
# The Paper Lantern

A **small** bookshop with *slow* trains on the shelf, and `one` cat.

| shelf  | books | smell        |
|--------|------:|--------------|
| poetry |     2 | dust         |
| travel |     2 | coal and sea |

1. Come in
2. Read a page
   - standing
   - or on the stairs
3. Stay

> Nobody winds the clock, and still it is right twice a day.

```python
def open_shop(hour: int) -> bool:
    return 9 <= hour < 18
```

[The catalogue](shop://catalogue) has everything.
"""

UNICODE = """\
Latin       naïve café, Ærøskøbing, Łódź
Greek       Ἀθηναῖοι
Cyrillic    Ёлка, Київ
Hebrew      שלום עולם
Arabic      مرحبا بالعالم
Devanagari  नमस्ते
Thai        สวัสดี
Chinese     你好，世界
Japanese    こんにちは、ｶﾀｶﾅ
Korean      안녕하세요
Signs       ∑ ∞ ≠ ← ↑ → ↓ ½ № ™
Wide        ｗｉｄｅ　ｓｐａｃｅ
Combining   e\u0301 o\u0308 n\u0303
Boxes       ┌─┬─┐ ▏▎▍▌▋▊▉█
"""

HOSTILE = {
    "escape sequences": "red: \x1b[31mred\x1b[0m, clear: \x1b[2J\x1b[H, title: \x1b]0;owned\x07, link: "
    "\x1b]8;;https://example.com\x1b\\click\x1b]8;;\x1b\\, clipboard: \x1b]52;c;b3duZWQ=\x07",
    "control characters": "bell \x07 backspace 123\x08\x08\x08 carriage return\rover, C1 \x9b31m, NUL \x00, DEL \x7f",
    "bidirectional": "invoice\u202efdp.exe, \u2066isolate\u2069, price 100 \u200f!",
    "invisible": "zero\u200bwidth, word\u2060joiner, soft\u00adhyphen, tag \U000e0041\U000e0042, BOM \ufeffhere",
    "combining": "a" + "\u0301\u0316\u0334" * 30 + " tower",
    "markup": "[bold red]not bold[/] [@click=app.quit]quit[/] [link=https://example.com]link[/link]",
    "line separators": "one\u2028two\u2029three\x0bfour\x0cfive\x85six",
}
"""What a server should not be able to do to a terminal, by name."""


def long_text(kilobytes: int) -> str:
    """About `kilobytes` KB of numbered lines, each a sentence from the shop's diary."""
    sentences = (
        "The bell rang and nobody came in.",
        "Two readers met between travel and poetry.",
        "The cat slept on the science shelf again.",
        "A parcel of maps arrived from the coast.",
        "Rain until four, then a queue at the till.",
    )
    lines: list[str] = []
    size = 0
    while size < kilobytes * 1024:
        number = len(lines) + 1
        lines.append(f"{number:>7}  {sentences[number % 5]}")
        size += len(lines[-1]) + 1
    return "\n".join(lines)


def long_json(kilobytes: int) -> dict[str, Any]:
    """An object of about `kilobytes` KB when written without blanks: a list of sales."""
    count = max(1, kilobytes * 1024 // 96)
    sales = [
        {
            "number": n,
            "book": "slow-trains-north",
            "copies": n % 3 + 1,
            "paid": round(n * 0.37 % 50, 2),
            "gift": n % 7 == 0,
        }
        for n in range(1, count + 1)
    ]
    return {"count": count, "sales": sales}
