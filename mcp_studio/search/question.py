"""What a question asks for: its words, each with how much it counts and with what else may stand for it."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from functools import cache, lru_cache
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple, Protocol

from mcp_studio.search import tokens
from mcp_studio.search.method import LONGEST
from mcp_studio.search.tokens import CHUNK, chunk_words, words

STOP = frozenset(
    "a an the this that these those my our your his her its their me us you him them i we he she it they am is are was"
    " were be been being do does did doing have has had having will would shall should can could may might must of in"
    " on at to for from by with about into onto over under as and or but if then than so such both each every all any"
    " some no not only own same too very just also please help want need like let s t d ll re ve m don there here what"
    " know sure"
    " which who whom whose when where why how hi hello thanks thank kindly lets next after finally first firstly"
    " secondly lastly second third additionally besides furthermore moreover once via per out up down given using use"
    " named called specific certain new".split()
) | frozenset("的了吗呢吧啊我你您他她它们是在和与或及也都就还把被将为对从到给让请能会要想这那些有个")
"""Words that are not looked for, unless a question has no others."""
LOOKING = frozenset(
    "show get list find fetch retrieve obtain gather give tell display view see look check read provide return"
    " latest recent recently current currently today now"
    " 查询 查看 查找 获取 搜索 寻找 找到 找出 显示 列出 告诉 看看 得到 最新 当前 目前 今天 现在".split()
)
"""Verbs of looking, and that it is about now: tools of every server do that, so that it tells less."""
CIRCUMSTANCE = frozenset("with in using named called where".split())
"""What comes after one of these tells less about what to do than what comes before."""
_SAME = """
    delete remove | create add new | get retrieve fetch | list show | update modify edit change | search find lookup
    send post | run execute | save write | rename move | start begin | stop end
    picture image photo | movie film | car vehicle automobile | company organization business | person people user
    email mail | website site webpage | cost price | job task | schedule calendar | song track music | buy purchase
    book reserve booking | translate translation | weather forecast | chart graph plot | location place address
    country nation
    folder directory dir | repository repo repos | doc document | docs documentation | config configuration
    db database databases | app application | auth authentication | param parameter | env environment
    info information | org organization | k8s kubernetes | calc calculate | img image | msg message | lib library
    spec specification | temp temperature temporary | admin administrator | stats statistics | perf performance
    dev development developer | prod production | ref reference | sync synchronize | addr address | lang language
    num number | desc description | cmd command | pkg package | func function | var variable | max maximum
    min minimum | avg average | id identifier | ad advertisement | pic picture | lab laboratory | exam examination
    photo photograph | hr human | pr pull
    ppt pptx powerpoint presentation slides | docx word document | xls xlsx excel spreadsheet | md markdown
    txt text file | py python | js javascript | ts typescript
    csv spreadsheet | png image | jpg image | mp3 audio | wav audio | mp4 video
"""


def _listed() -> dict[str, tuple[str, ...]]:
    found: dict[str, list[str]] = {}
    for group in re.split(r"[|\n]", _SAME):
        for word in group.split():
            found.setdefault(word, []).extend(other for other in group.split() if other != word)
    return {word: tuple(dict.fromkeys(others)) for word, others in found.items()}


SAME = _listed()
"""Other words for a word: what means much the same, and what it is short for."""

THEN = re.compile(
    r"(?<=[.!?;])\s+|[。！？；\n]"
    r"|\b(?:and then|then|and also|finally|next|additionally|besides|after that|also)\b"
    r"|另外|同时|此外|还想|还需要|并且",
    re.IGNORECASE,
)
"""Where a question goes on to something else."""
FRAME = re.compile(
    "请问|请帮我|请帮|帮我|帮忙|麻烦|谢谢|我们|我的|我想要|我想|我要|我正在|我在|我希望|希望|需要|想要|想知道|知道|了解一下"
    "|能否|能不能|可以|能够|是否|你能|你们|您|他们|她们|它们|以及|并且|同时|另外|此外|还有|而且|但是|因为|所以|如果|或者"
    "|关于|对于|根据|通过|使用|进行|一下|一些|一个|一份|一种|这个|那个|这些|那些|什么|怎么|怎样|如何|哪些|哪里|多少|给我"
    "|给出|提供|最近|正在|已经|非常|特别|比较|分别|包括|包含"
)
"""What frames a Chinese question without telling what it is about."""
ASIDE = re.compile(
    r"""https?://\S+|www\.\S+|(?<![\w.+-])[\w.+-]+@[\w-]+\.[\w.]+|<[^<>\n]{1,60}>"""
    r"""|"[^"\n]{1,300}"|“[^”\n]{1,300}”|「[^」\n]{1,300}」|`[^`\n]{1,300}`|(?<!\w)'[^'\n]{1,300}'(?!\w)|‘[^’\n]{1,300}’(?!\w)"""
    r"""|(?:[A-Za-z]:|~|\.{1,2})?(?:[/\\][\w.\-]+)+[/\\]?|\b[\w-]+\.(?:[a-z]{2,4}|mp[34])\b"""
    r"""|\b(?=\w*[0-9])(?=\w*[A-Za-z])[\w-]{8,}\b|(?<![\w.])[#$€£]?[0-9][0-9.,:%/\-]*(?![A-Za-z_])"""
)
"""Quoted text, paths, addresses, numbers: mostly what to do something with, seldom what to do."""

_FILE = Path(__file__).with_name("glossary.txt")


@cache
def entries() -> dict[str, tuple[str, ...]]:
    """The English words of each Chinese one, the likeliest first; words that belong together have a `_` between."""
    found: dict[str, tuple[str, ...]] = {}
    for line in _FILE.read_text("utf-8").splitlines():
        if "=" in line and not line.startswith("#"):
            chinese, _, english = line.partition("=")
            for word in chinese.split():
                found.setdefault(word, tuple(english.split()))
    return found


@cache
def _pattern() -> re.Pattern[str]:
    return re.compile("|".join(sorted(entries(), key=lambda word: (-len(word), word))))


def english_words(run: str) -> Iterator[tuple[str, ...]]:
    """What the Chinese words of a stretch may be in English, one after the other; of two that overlap the longer."""
    known = entries()
    for found in _pattern().finditer(run):
        yield known[found[0]]


BESIDE = 0.3
"""What quoted text, paths, addresses and numbers count."""
ENDING = 0.7
"""What the ending of a file's name counts, which tells what kind of file it is."""
LOOK = 0.45
"""What a verb of looking counts."""
LATER = 0.7
"""What words count that tell the circumstances."""
FORM = 0.6
"""What another form of a word counts."""
OTHER = 0.5
"""What another word for the same counts."""
JOINED = 0.3
"""What two neighbours count that are one word elsewhere."""
SPLIT = 0.5
"""What the halves of a word count that hardly any document has."""
RARE = 3
"""In so many documents at most is a word that is taken for two."""
COMMON = 3
"""In so many documents at least is each of the two."""
MEANT = 0.5
"""What an English word counts that a Chinese one may mean."""
SINGLE = 0.8
"""What a single character of a script without spaces counts."""
BEGINNING = 0.6
"""What a word counts that begins with what is being typed."""
MOST_ASKED = 64
MOST_BEGINNINGS = 12
MOST_PARTS = 8
LONGEST_SPLIT = 40


class Vocabulary(Protocol):
    """The words that documents have."""

    def frequency(self, word: str) -> int:
        """How many documents have it."""
        ...

    def forms(self, word: str) -> Iterable[str]:
        """Words of the same stem."""
        ...

    def beginning(self, prefix: str, most: int) -> Sequence[str]:
        """Words that begin so, those of the most documents first."""
        ...


class Asked(NamedTuple):
    """One thing that is asked for."""

    weight: float
    words: dict[str, float]
    """What may stand for it, and how well."""
    tells: bool = True
    """Whether an entry answers at all that has nothing else: not where it is a verb of looking."""


class Question(NamedTuple):
    """What a question asks for."""

    whole: list[Asked]
    parts: list[list[Asked]]
    """The same for each of its sentences, where there are several: they may ask for one thing each."""
    dense: bool = False
    """Whether some of it is written without spaces."""


class _Term(NamedTuple):
    part: int
    weight: float
    word: str
    english: tuple[str, ...] = ()
    """What a Chinese word may be in English."""


def analyse(text: str, vocabulary: Vocabulary, typing: bool = False) -> list[Asked]:
    """What a question asks for, in its order, each thing once."""
    return read(text, vocabulary, typing).whole


def read(text: str, vocabulary: Vocabulary, typing: bool = False, segment: tokens.Segment | None = None) -> Question:
    """What a question and its sentences ask for.

    Args:
        text: the question; what comes after `LONGEST` characters is left out.
        vocabulary: which words there are at all.
        typing: the last word may be the beginning of one.
        segment: finds words in scripts without spaces.
    """
    terms = list(_terms(text[:LONGEST], segment))
    telling = [term for term in terms if term.word not in STOP]
    reader = _Reader(vocabulary)
    if terms and text[-1:].isalnum() and len(text) <= LONGEST:
        reader.beginning(terms[-1].word, typing)
        if typing and terms[-1].word in STOP:
            telling.append(terms[-1])
    terms = telling or terms
    parts: dict[int, list[_Term]] = {}
    for term in terms:
        parts.setdefault(term.part, []).append(term)
    return Question(
        reader.asked(terms),
        [reader.asked(part) for part in list(parts.values())[:MOST_PARTS]] if len(parts) > 1 else [],
        any(tokens.is_dense(term.word[0]) for term in terms),
    )


def _terms(text: str, segment: tokens.Segment | None) -> Iterator[_Term]:
    """The words of a question in their order, with what they count by where they stand."""
    aside = [match.span() for match in ASIDE.finditer(text)]
    starts = [start for start, _ in aside]

    def beside(place: int) -> bool:
        at = bisect_right(starts, place) - 1
        return at >= 0 and place < aside[at][1]

    turns = [match.end() for match in THEN.finditer(text) if not beside(match.start())]
    part, told, weight = 0, False, 1.0
    for match in CHUNK.finditer(text):
        chunk, here = match[0], bisect_right(turns, match.start())
        if here != part:
            part, told, weight = here, False, 1.0
        inside = beside(match.start())
        if tokens.is_dense(chunk[0]):
            yield from _dense(chunk, part, inside, segment)
            continue
        ending = inside and text[match.start() - 1 : match.start()] == "." and chunk in SAME
        for word in chunk_words(chunk):
            if word in CIRCUMSTANCE:
                weight = LATER if told else weight
            told = told or (word not in STOP and word not in LOOKING)
            yield _Term(
                part, ENDING if ending else BESIDE if inside else min(weight, LOOK) if word in LOOKING else weight, word
            )


def _dense(chunk: str, part: int, inside: bool, segment: tokens.Segment | None) -> Iterator[_Term]:
    for english in english_words(chunk):
        yield _Term(part, BESIDE if inside else MEANT, " ".join(english), english)
    for run in FRAME.split(chunk):
        for word in tokens.grams(run, segment):
            weight = BESIDE if inside else LOOK if word in LOOKING else 1.0
            yield _Term(part, weight * SINGLE if len(word) == 1 else weight, word)


class _Reader:
    """Looks the words of one question up, each once."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        self._vocabulary = vocabulary
        self._known: dict[str, dict[str, float]] = {}

    def asked(self, terms: list[_Term]) -> list[Asked]:
        """What these words ask for."""
        found: dict[str, Asked] = {}
        ordinary = [term for term in terms if not term.english and not tokens.is_dense(term.word[0])]
        for term in terms:
            if term.word not in found or found[term.word].weight < term.weight:
                _put(found, term.word, term.weight, self._alike(term), term.word not in LOOKING)
        for term in ordinary:
            if term.weight > BESIDE:
                for half in self._halves(term.word):
                    _put(found, half, min(SPLIT, term.weight), self.alike(half))
        for one, other in pairwise(ordinary):
            joined = one.word + other.word
            if self._vocabulary.frequency(joined):
                _put(found, joined, JOINED, {joined: 1.0})
        return list(found.values())[:MOST_ASKED]

    def alike(self, word: str) -> dict[str, float]:
        """What stands for a word: itself, its forms, other words for it."""
        known = self._known.get(word)
        if known is None:
            known = {word: 1.0} if self._vocabulary.frequency(word) else {}
            for form in self._vocabulary.forms(word):
                known.setdefault(form, FORM)
            for other in SAME.get(word, ()):
                if self._vocabulary.frequency(other):
                    known.setdefault(other, OTHER)
            self._known[word] = known
        return known

    def beginning(self, word: str, typing: bool) -> None:
        """Let the last word stand for those that begin with it: while it is typed, and where there is no such word."""
        known = self.alike(word)
        if word and not tokens.is_dense(word[0]) and (typing or not known):
            for whole in self._vocabulary.beginning(word, MOST_BEGINNINGS):
                known.setdefault(whole, BEGINNING)

    def _alike(self, term: _Term) -> dict[str, float]:
        if not term.english:
            if tokens.is_dense(term.word[0]):
                return {term.word: 1.0} if self._vocabulary.frequency(term.word) else {}
            return self.alike(term.word)
        found: dict[str, float] = {}
        for phrase in term.english:
            for word in phrase.split("_"):
                if word not in LOOKING:
                    for alike, much in self.alike(word).items():
                        found[alike] = max(found.get(alike, 0.0), much)
        return found

    def _halves(self, word: str) -> tuple[str, ...]:
        """The two words that a word is made of which hardly any document has."""
        frequency = self._vocabulary.frequency
        if not 6 <= len(word) <= LONGEST_SPLIT or frequency(word) > RARE:
            return ()
        most, at = max((min(frequency(word[:at]), frequency(word[at:])), -at) for at in range(2, len(word) - 1))
        return (word[:-at], word[-at:]) if most >= COMMON else ()


def _put(found: dict[str, Asked], word: str, weight: float, words: dict[str, float], tells: bool = True) -> None:
    if words and (word not in found or found[word].weight < weight):
        found[word] = Asked(weight, words, tells)


_DEEDS = (
    "get list show find fetch retrieve search query describe display view read lookup check count browse inspect",
    "create add insert register",
    "update modify edit change set rename patch alter replace",
    "delete remove drop destroy purge erase uninstall",
)
_ASKED = ("give tell look see which what who how where when", "make new", "", "")
"""Said in questions; in names they say other things."""
_NAMED = {word: 1 << at for at, said in enumerate(_DEEDS) for word in said.split()}
_WANTED = _NAMED | {word: 1 << at for at, said in enumerate(_ASKED) for word in said.split()}


def wanted(text: str) -> int:
    """What a question may want done, one bit for each deed; 0 where it does not say."""
    return _all(_WANTED, words(text))


def named(said: Iterable[str]) -> int:
    """What the words of a name say that it does, in the same bits; 0 where they do not say."""
    return _all(_NAMED, said)


@lru_cache(maxsize=4_000)
def done(name: str) -> int:
    """The same for a name as it is."""
    return named(words(name))


def _all(known: dict[str, int], said: Iterable[str]) -> int:
    found = 0
    for word in said:
        found |= known.get(word, 0)
    return found
