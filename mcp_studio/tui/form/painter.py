"""How the fields of a form look: one line each, with what is wrong and what it means below."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import field
from textwrap import wrap

from rich.cells import cell_len

from mcp_studio.jsontext import Json
from mcp_studio.record import record
from mcp_studio.safetext import safe
from mcp_studio.schema.field import Choice, Choices, Field, Flag, Text
from mcp_studio.schema.text import to_text
from mcp_studio.tui.form.model import FormModel
from mcp_studio.tui.form.offers import Offers
from mcp_studio.tui.form.picker import Picker
from mcp_studio.tui.views.glyphs import glyphs
from mcp_studio.tui.views.line import Piece, cut, fit, width_of

_BLANK = re.compile("[ \t\r\n]+")
INLINE = 4
"""Options that are shown side by side; more open as a list."""
_MOST_HELP = 8
"""Lines of description under the current field."""


@record(frozen=True)
class Spot:
    """A place that can be clicked: an option, or the value as a whole (-1)."""

    line: int
    start: int
    end: int
    option: int


@record()
class Drawn:
    """The lines of one field."""

    lines: list[list[Piece]] = field(default_factory=list[list[Piece]])
    spots: list[Spot] = field(default_factory=list[Spot])


class Painter:
    """Draws fields at a width. Whatever comes from a server passes `safe` here."""

    def __init__(self, model: FormModel, width: int) -> None:
        self._model = model
        self.width = max(20, width)
        longest = max((cell_len(_name(known)) for known in model.form.fields), default=0)
        self.label_width = min(longest + 2, max(10, self.width * 2 // 5), 30)

    @property
    def room(self) -> int:
        """Cells for a value."""
        return self.width - self.label_width

    def draw(self, known: Field, *, current: bool, picker: Picker | None, editor: int, offers: Offers | None) -> Drawn:
        """One field; `editor` is the height of the editor that will lie over its value, 0 when there is none."""
        drawn = Drawn()
        label: Piece = (fit(_name(known), self.label_width - 1) + " ", "accent" if current else "")
        if editor:
            drawn.lines = [[label], *([] for _ in range(editor - 1))]
        else:
            value: list[Piece] = self._value(known, drawn)
            if current and picker is None:
                value = [(text, "cursor") for text, _ in value]
                value.append((" " * (self.room - width_of(value)), "cursor"))
            drawn.lines = [[label, *value]]
        if picker is not None:
            self._list(picker, drawn)
        if offers is not None and offers.open:
            self._offered(offers, drawn)
            return drawn
        drawn.lines += self._problems(known)
        drawn.lines += self._help(known, current)
        return drawn

    def notices(self) -> Iterator[list[Piece]]:
        """What stands above the fields: what is wrong with the value as a whole."""
        for problem in self._model.loose():
            sign, look = _sign(problem.severity)
            yield from self._wrapped(f"{sign} {safe(problem.message, 400)}", look, 0, 3)

    def remarks(self) -> Iterator[list[Piece]]:
        """What stands below: what is sent though no field shows it."""
        if self._model.form.more:
            yield from self._wrapped(f"{self._model.form.more} more are edited as JSON.", "dim", 0, 2)
        if names := self._model.others:
            listed = ", ".join(safe(name, 40) for name in names[:6]) + (", …" if len(names) > 6 else "")
            yield from self._wrapped(f"Sent too, edited as JSON: {listed}", "dim", 0, 2)

    # The value

    def _value(self, known: Field, drawn: Drawn) -> list[Piece]:
        has = self._model.has(known)
        waiting = known.name in self._model.pending
        if isinstance(known, Flag) and (not has or isinstance(self._model.get(known), bool)):
            return self._flag(known, drawn)
        if isinstance(known, Choice) and (not has or self._model.chosen(known) >= 0):
            return self._choice(known, drawn)
        if isinstance(known, Choices) and isinstance(self._model.get(known), list):
            return self._picked(known, drawn)
        drawn.spots.append(Spot(0, self.label_width, self.width, -1))
        if not has and not waiting:
            sign = f"{glyphs().unfolded} " if isinstance(known, Choices) else ""
            return [(cut(sign + hint(known), self.room), "dim")]
        return [self._text(known)]

    def _text(self, known: Field) -> Piece:
        if self._model.closed(known):
            return (cut("too large to be edited here", self.room), "dim")
        text = self._model.text(known)
        if not text:
            return (cut(nothing(self._model, known), self.room), "dim")
        if isinstance(known, Text) and known.secret:
            text = "•" * min(len(text), 20)
        return (cut(safe(text, self.room + 1), self.room), "")

    def _flag(self, known: Flag, drawn: Drawn) -> list[Piece]:
        drawn.spots.append(Spot(0, self.label_width, self.width, -1))
        if not self._model.has(known):
            return [(cut(f"[{glyphs().dash}] {hint(known)}", self.room), "dim")]
        return [("[x] true", "")] if self._model.get(known) else [("[ ] false", "")]

    def _choice(self, known: Choice, drawn: Drawn) -> list[Piece]:
        at = self._model.chosen(known)
        labels = [safe(option.label, 80) for option in known.options]
        pieces = list(self._side_by_side(labels, at, drawn)) if inline(known, self.room) else []
        if pieces:
            if at < 0 and (words := _absent(known)):
                pieces.append((f"  {words}", "dim"))
            return _crop(pieces, self.room)
        drawn.spots.append(Spot(0, self.label_width, self.width, -1))
        sign = f"{glyphs().unfolded} "
        return [(cut(sign + labels[at], self.room), "")] if at >= 0 else [(cut(sign + hint(known), self.room), "dim")]

    def _side_by_side(self, labels: Sequence[str], chosen: int, drawn: Drawn) -> Iterator[Piece]:
        x = self.label_width
        for index, label in enumerate(labels):
            text = f"{glyphs().on if index == chosen else glyphs().off} {label}"
            drawn.spots.append(Spot(0, x, x + cell_len(text) + 2, index))
            x += cell_len(text) + 2
            if index:
                yield ("  ", "")
            yield (text, "strong" if index == chosen else "")

    def _picked(self, known: Choices, drawn: Drawn) -> list[Piece]:
        drawn.spots.append(Spot(0, self.label_width, self.width, -1))
        picked = self._model.picked(known)
        labels = [safe(option.label, 80) for index, option in enumerate(known.options) if index in picked]
        listed = ", ".join(labels) or "none: an empty list"
        return [(cut(f"{glyphs().unfolded} {listed}", self.room), "" if labels else "dim")]

    def _list(self, picker: Picker, drawn: Drawn) -> None:
        """The open list of options below the value."""
        margin = " " * self.label_width
        if picker.words:
            drawn.lines.append([(margin, ""), (cut(f"/ {picker.words}", self.room), "accent")])
        for index in picker.window():
            option = picker.options[index]
            on, off = ("[x]", "[ ]") if picker.many else (glyphs().on, glyphs().off)
            text = f"{on if option in picker.marked else off} {safe(picker.label(option), 200)}"
            drawn.spots.append(Spot(len(drawn.lines), self.label_width, self.width, index))
            look = "cursor" if index == picker.at else "dim" if option < 0 else ""
            drawn.lines.append([(margin, ""), (fit(text, self.room), look)])
        if not picker.options:
            drawn.lines.append([(margin, ""), ("nothing fits", "dim")])

    def _offered(self, offers: Offers, drawn: Drawn) -> None:
        """What the server offers, in the place of what is said about the field."""
        margin = " " * self.label_width
        for index in offers.window():
            drawn.spots.append(Spot(len(drawn.lines), self.label_width, self.width, index))
            look = "cursor" if index == offers.at else ""
            bar: Piece = (f"{glyphs().bar} ", "dim")
            drawn.lines.append([(margin, ""), bar, (fit(offers.values[index], self.room - 2), look)])
        drawn.lines.append([(margin, ""), (cut(offers.footer(), self.room), "dim")])

    # Below

    def _problems(self, known: Field) -> list[list[Piece]]:
        lines: list[list[Piece]] = []
        for problem in self._model.shown(known)[:5]:
            sign, look = _sign(problem.severity)
            lines += self._wrapped(f"{sign} {safe(problem.message, 400)}", look, self.label_width, 3)
        return lines

    def _help(self, known: Field, current: bool) -> list[list[Piece]]:
        title = "" if _letters(known.title) == _letters(known.name) else _plain(known.title)
        seen = isinstance(known, Flag) or (isinstance(known, Choice) and inline(known, self.room))
        filled = self._model.has(known) or known.has_default
        shape = current and not seen and filled
        meaning = ": ".join(part for part in (title, _plain(known.description)) if part)
        if _letters(meaning) == _letters(known.hint) and (shape or not filled):
            meaning = ""  # The server says what the schema says.
        words = " · ".join(part for part in (safe(known.hint, 100) if shape else "", meaning) if part)
        return list(self._wrapped(words, "dim", 2, _MOST_HELP if current else 1)) if words else []

    def _wrapped(self, text: str, look: str, margin: int, most: int) -> Iterator[list[Piece]]:
        lines = wrap(text, max(10, self.width - margin), break_long_words=True) or [""]
        if len(lines) > most:
            lines = [*lines[: most - 1], f"{lines[most - 1]} {glyphs().more}"]
        for line in lines:
            yield [(" " * margin, ""), (cut(line, self.width - margin), look)]


def inline(known: Choice, room: int) -> bool:
    """Whether all options of a choice are shown side by side."""
    return len(known.options) <= INLINE and sum(cell_len(option.label) + 4 for option in known.options) <= room


def nothing(model: FormModel, known: Field) -> str:
    """What stands dimmed in a field without text: null, empty text, or what could be there."""
    if not model.has(known):
        return hint(known)
    return "null" if model.get(known) is None else '"" (empty text)'


def hint(known: Field) -> str:
    """What stands dimmed in an empty field: the default, else the shape; and whether it may stay empty."""
    words = [] if isinstance(known, Flag) else [safe(known.hint, 60) or "text"]
    if known.has_default:
        words = [f"{default(known)} (default)"]
    return ", ".join(word for word in (*words, _absent(known)) if word)


def default(known: Field) -> str:
    """The default of a field as it is shown."""
    value: Json = known.default
    return '""' if value == "" else "null" if value is None else safe(to_text(known, value), 60)


def _absent(known: Field) -> str:
    return "" if known.required or known.has_default else "optional"


def _name(known: Field) -> str:
    return safe(known.name, 60) + (" *" if known.required else "")


def _plain(text: str) -> str:
    """Foreign words as one paragraph."""
    return safe(_BLANK.sub(" ", text[:4_000]).strip())


def _letters(text: str) -> str:
    """What makes `shoe_size` and `Shoe Size` the same."""
    return "".join(filter(str.isalnum, text)).casefold()


def _sign(severity: str) -> tuple[str, str]:
    return (glyphs().bad, "bad") if severity == "error" else (glyphs().warning, "warn")


def _crop(pieces: list[Piece], width: int) -> list[Piece]:
    while pieces and width_of(pieces) > width:
        pieces.pop()
    return pieces
