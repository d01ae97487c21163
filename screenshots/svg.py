"""What is done to the pictures that Textual exports. Pure text."""

from __future__ import annotations

import re
from html import unescape
from typing import Any

from rich.cells import cell_len

CELL = 12.2
"""Width of a cell in the export."""
FONTS = "'Fira Code','Cascadia Mono','DejaVu Sans Mono',Menlo,Consolas,monospace"


def plain(svg: str, name: str) -> str:
    """The picture without fonts from elsewhere, shorter, and with texts as wide as their cells."""
    svg = re.sub(r"@font-face \{.*?\}\s*|<!--.*?-->", "", svg, flags=re.DOTALL)
    svg = svg.replace("Fira Code, monospace", FONTS).replace("font-family: arial", "font-family: sans-serif")
    svg = re.sub(r"terminal-\d+-", f"{name}-", svg).replace("&#160;", "\N{NO-BREAK SPACE}")
    svg = re.sub(r'<text [^>]*textLength="0"[^>]*>\s*</text>', "", svg)
    svg = re.sub(r'(?<=textLength=")[\d.]+("[^>]*>)([^<]*)', _length, svg)
    svg = re.sub(r'(?:<rect [^>]*shape-rendering="crispEdges"/>)+', _merged, svg)
    return "\n".join(line.strip(" ") for line in svg.splitlines() if line.strip(" ")) + "\n"


def _length(found: re.Match[str]) -> str:
    """The length that a text has on the terminal: counted in cells, where the export counts code points."""
    return f"{cell_len(unescape(found[2])) * CELL:g}{found[1]}{found[2]}"


def _merged(found: re.Match[str]) -> str:
    """One rectangle for neighbours of the same colour, where the export has one for each piece of text."""
    runs: list[list[Any]] = []
    for fill, x, y, width in re.findall(r'fill="(.*?)" x="(.*?)" y="(.*?)" width="(.*?)"', found[0]):
        start, end = float(x), float(x) + float(width)
        if runs and runs[-1][:2] == [fill, y] and abs(runs[-1][3] - start) < 0.1:
            runs[-1][3] = end
        else:
            runs.append([fill, y, start, end])
    return "".join(
        f'<rect fill="{fill}" x="{x:g}" y="{y}" width="{end - x:g}" height="24.65" shape-rendering="crispEdges"/>\n'
        for fill, y, x, end in runs
    )
