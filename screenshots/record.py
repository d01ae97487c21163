"""Record the tour of twenty seconds: `tour.cast` for asciinema, and `tour.svg`, which plays by itself, made of it.

    python screenshots/record.py          # both
    python screenshots/record.py --draw   # the SVG alone, from the cast that is there

The program runs on a pseudo-terminal in a home of its own, on the bundled demo server.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
import time
from collections.abc import Iterator
from html import escape
from pathlib import Path
from typing import NamedTuple

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
sys.path.insert(0, str(ROOT))

import pyte  # noqa: E402 - found only after the line above
from pyte.screens import Char  # noqa: E402

from screenshots.svg import FONTS  # noqa: E402
from tests.walker import Walker, key  # noqa: E402

COLUMNS, ROWS = 110, 32
CELL, LINE, SIZE = 8.4, 18, 14
"""Width and height of a cell, and of letters, in pixels."""
INK, PAPER = "#d8dee9", "#14171c"
REST = 0.12
"""Seconds without output after which a frame is complete."""
TYPING = 0.1
"""Seconds between two keys."""
LONGEST = 1.6
"""Seconds that a frame is shown at most: nobody watches a server start."""


class Step(NamedTuple):
    """Keys as `tests.walker` spells them, what the screen shows then, and how long that is looked at."""

    keys: str
    shows: str
    seconds: float = 1.0


TOUR = (
    Step("", "list_books", 1.5),
    Step("down down down", "Put a new book", 1.2),
    Step("up up up enter", "genre", 0.8),
    Step("^j", "round trip", 1.5),
    Step("4 ]", "Salt and Starlight", 1.2),
    Step("]", "Salt and Starlight", 1.5),
    Step("^f d e l e t e space a space b o o k", "remove_book", 1.5),
    Step("esc", "4 Result", 0.4),
    Step("2 / a s k _ e v e r y enter", "every kind", 0.8),
    Step("^j", "requests input", 1.5),
    Step("esc", "4 Result", 0.4),
    Step("5", "tools/call", 1.0),
    Step("enter", "Timeline", 1.5),
    Step("esc", "5 Trace", 0.4),
    Step("^p t h e m e", "theme", 1.5),
    Step("esc", "tools/call", 1.0),
)


class Frame(NamedTuple):
    """What the terminal showed from a moment on."""

    begin: float
    lines: tuple[str, ...]
    """Each as SVG."""


def record() -> None:
    """Play the tour, and write what came as a cast."""
    with tempfile.TemporaryDirectory() as home:
        file = Path(home, "config.toml")
        file.write_text('[servers.demo]\ncommand = "python"\nargs = ["-m", "mcp_studio.servers.demo"]\n')
        path = os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"]))
        argv = [sys.executable, "-m", "mcp_studio", "--config", str(file)]
        walker = Walker(argv, COLUMNS, ROWS, {"MCP_STUDIO_HOME": home, "PATH": path})
        walker.start()
        try:
            for step in TOUR:
                for name in step.keys.split():
                    walker.press(key(name))
                    look(walker, TYPING)
                walker.shows(step.shows)
                look(walker, step.seconds)
        finally:
            walker.quit()
    (HERE / "tour.cast").write_text("\n".join(cast_of(walker.chunks)) + "\n", "utf-8")


def cast_of(chunks: list[tuple[float, bytes]]) -> Iterator[str]:
    """Lines of a cast: the whole screen wherever the output rests, which is shorter than all of the output."""
    head = {"version": 2, "width": COLUMNS, "height": ROWS, "title": "mcp-studio", "env": {"TERM": "xterm-256color"}}
    yield json.dumps(head)
    screen = pyte.Screen(COLUMNS, ROWS)
    stream = pyte.ByteStream(screen)
    before = shift = 0.0
    last = ""
    for (when, data), (then, _) in zip(chunks, [*chunks[1:], (chunks[-1][0] + REST, b"")], strict=True):
        stream.feed(data.replace(b"\x1b[?2026h", b"").replace(b"\x1b[?2026l", b""))
        if then - when < REST:
            continue
        text = "\x1b[H" + "\r\n".join(painted(screen.buffer[row]) for row in range(ROWS))
        if text != last:
            last = text
            shift += max(0.0, when - before - LONGEST)
            before = when
            yield json.dumps([round(when - shift, 3), "o", text], ensure_ascii=False)


def painted(cells: dict[int, Char]) -> str:
    """A line with the sequences that colour it."""
    text = ""
    style: Char | None = None
    for column in range(COLUMNS):
        cell = cells[column]
        if style is None or cell._replace(data="") != style:
            style = cell._replace(data="")
            looks = ["0", *(code for code, on in (("1", cell.bold), ("4", cell.underscore), ("7", cell.reverse)) if on)]
            for name, code in ((cell.fg, "38"), (cell.bg, "48")):
                if len(name) == 6:
                    looks.append(f"{code};2;{int(name[:2], 16)};{int(name[2:4], 16)};{int(name[4:], 16)}")
            text += f"\x1b[{';'.join(looks)}m"
        text += cell.data
    return text


def look(walker: Walker, seconds: float) -> None:
    """Read what comes within some time."""
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        walker.pump(0.02)


def frames(cast: Path) -> Iterator[Frame]:
    """What a terminal shows of a cast."""
    head, *rows = (json.loads(line) for line in cast.read_text("utf-8").splitlines())
    screen = pyte.Screen(head["width"], head["height"])
    stream = pyte.Stream(screen)
    for when, _, data in rows:
        stream.feed(data)
        yield Frame(when, tuple(line_of(screen.buffer[row], head["width"]) for row in range(head["height"])))


def line_of(cells: dict[int, Char], width: int) -> str:
    """A line as SVG: backgrounds, then texts, each as wide as its cells."""
    runs: list[tuple[int, str, Char]] = []
    for column in range(width):
        cell = cells[column]
        if runs and cell._replace(data="") == runs[-1][2]:
            runs[-1] = (runs[-1][0], runs[-1][1] + cell.data, runs[-1][2])
        else:
            runs.append((column, cell.data, cell._replace(data="")))
    drawn: list[str] = []
    for column, text, style in runs:
        ink, paper = colour(style.fg, INK), colour(style.bg, PAPER)
        if style.reverse:
            ink, paper = paper, ink
        x, wide = f"{column * CELL:.1f}", f"{len(text) * CELL:.1f}"
        if paper != PAPER:
            drawn.append(f'<rect x="{x}" width="{wide}" height="{LINE}" fill="{paper}"/>')
        if bare := text.rstrip():
            look = ' font-weight="bold"' if style.bold else ""
            look += ' text-decoration="underline"' if style.underscore else ""
            length = f'{len(bare) * CELL:.1f}" lengthAdjust="spacingAndGlyphs'
            drawn.append(f'<text x="{x}" y="{SIZE}" fill="{ink}"{look} textLength="{length}">{escape(bare)}</text>')
    return "".join(drawn)


def colour(name: str, default: str) -> str:
    """A colour of the terminal as SVG has it."""
    if name == "default":
        return default
    return f"#{name}" if len(name) == 6 else name


def draw(cast: Path) -> str:
    """An SVG that shows the frames of a cast one after the other, for ever; each line is in it once."""
    film = list(frames(cast))
    total = film[-1].begin + LONGEST
    names: dict[str, str] = {}
    for frame in film:
        for line in filter(None, frame.lines):
            names.setdefault(line, f"l{len(names)}")
    width, height = COLUMNS * CELL, ROWS * LINE
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height}" font-size="{SIZE}" '
        f'font-family="{escape(FONTS)}" xml:space="preserve">',
        f'<rect width="100%" height="100%" rx="6" fill="{PAPER}"/><defs>',
        *(f'<g id="{name}">{line}</g>' for line, name in names.items()),
        "</defs><style>",
        f".f{{visibility:hidden;animation-duration:{total:.2f}s;animation-iteration-count:infinite}}",
    ]
    for number, frame in enumerate(film):
        end = film[number + 1].begin if number + 1 < len(film) else total
        begin, end = (0 if number == 0 else frame.begin / total * 100), end / total * 100
        before = "" if begin == 0 else f"0%,{begin - 0.001:.3f}%{{visibility:hidden}}"
        after = "" if number + 1 == len(film) else f"{end:.3f}%,100%{{visibility:hidden}}"
        parts.append(f"@keyframes k{number}{{{before}{begin:.3f}%,{end - 0.001:.3f}%{{visibility:visible}}{after}}}")
        parts.append(f"#f{number}{{animation-name:k{number}}}")
    parts.append("</style>")
    for number, frame in enumerate(film):
        uses = (
            f'<use href="#{names[line]}" y="{row * LINE}"/>' for row, line in enumerate(frame.lines) if line
        )  # fmt: skip
        parts.append(f'<g id="f{number}" class="f">{"".join(uses)}</g>')
    return "\n".join(parts) + "</svg>\n"


def main() -> None:
    """Record and draw, or draw alone."""
    os.chdir(ROOT)
    if "--draw" not in sys.argv[1:]:
        record()
    svg = draw(HERE / "tour.cast")
    (HERE / "tour.svg").write_text(svg, "utf-8")
    sys.stdout.write(f"tour.svg  {len(svg.encode()) / 1024:.0f} KB\n")


if __name__ == "__main__":
    main()
