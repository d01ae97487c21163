"""Methods of packages: found by their entry points, checked, and whatever they do costs them alone."""

from __future__ import annotations

import re
import sys
import threading
from collections.abc import Iterator

import pytest

from mcp_studio.catalog.listing import Ref
from mcp_studio.search import index as serving
from mcp_studio.search.method import Answer, Query, Reason, Scope, Scored, SearchProblem
from mcp_studio.search.plugins import MethodFailed, MethodOffer, checked, entry_points, guarded
from tests.search.index_kit import Index, Make, Plug, document, names, searching
from tests.support import ROOT

MANNERS = """
import threading
class Fine:
    def __init__(self): self.known = {}
    def index(self, documents):
        for one in documents: self.known[one.ref] = one
    def remove(self, refs):
        for ref in refs: del self.known[ref]
    def search(self, query):
        from mcp_studio.search.method import Answer, Scored
        return Answer([Scored(ref, 1.0) for ref in self.known], len(self.known), "mine")
class Unmade(Fine):
    def __init__(self): raise RuntimeError("no\\x1b[31m way")
class Ungiven(Fine):
    def index(self, documents): raise KeyError("index")
class Unasked(Fine):
    def search(self, query): raise SystemError("search")
class Exiting(Fine):
    def index(self, documents): raise SystemExit(3)
class Refusing(Fine):
    def search(self, query):
        from mcp_studio.search.method import SearchProblem
        raise SearchProblem("Ask me something else.", at=2)
class Nonsense(Fine):
    def search(self, query): return 42
class Slow(Fine):
    end = threading.Event()
    def search(self, query):
        self.end.wait(60)
        return super().search(query)
class SlowlyGiven(Fine):
    end = threading.Event()
    def index(self, documents): self.end.wait(60)
class Less:
    def index(self, documents): pass
class Leaving(Fine):
    def close(self): raise ValueError("not yet")
"""
KINDS = "Fine Unmade Ungiven Unasked Exiting Refusing Nonsense Slow SlowlyGiven Less Leaving".split()
NAMED = [f"{kind.lower()} = manners:{kind}" for kind in KINDS]


@pytest.fixture
def manners(plug: Plug) -> None:
    """A package with methods of all kinds."""
    plug("manners", MANNERS, *NAMED, "missing = manners:Missing", "bm25 = manners:Fine", "auto = manners:Fine")


def filled(indexes: Make) -> Index:
    index = indexes()
    index.list("s", "tool", [document("s", "read"), document("s", "write")])
    return index


def test_the_example_of_the_documentation_works(plug: Plug, indexes: Make) -> None:
    page = (ROOT / "docs" / "search.md").read_text("utf-8")
    code = re.findall(r"```python\n(\"\"\"Finds names.*?)```", page, re.DOTALL)
    point = re.findall(r"search_methods\"\]\n(.*?)\n```", page, re.DOTALL)
    (name, module) = re.findall(r"(\w+) = \"(\w+):\w+\"", point[0])[0]
    plug(module, code[0], point[0].replace('"', ""))
    index = indexes()
    index.list("github", "tool", [document("github", name) for name in ("get_file_contents", "getFork", "list_forks")])
    found = index.ask_now("gf", method=name)
    assert names(found) == ["github.getFork", "github.get_file_contents"] and found.method == name
    assert found.hits[0].reasons == (Reason("name", ("getFork",)),)
    index.list("github", "tool", [document("github", "get_file_contents")])
    assert names(index.ask_now("gf", method=name)) == ["github.get_file_contents"]
    assert index.ask_now("gf", method=name, scope=Scope(frozenset({"other"}))).hits == ()
    with pytest.raises(SearchProblem, match="letters and digits") as told:
        index.ask_now("?", method=name)
    assert told.value.at == 0


def test_methods_are_listed_with_their_package_and_our_names_stay_ours(manners: None, indexes: Make) -> None:
    index = filled(indexes)
    assert "fine" not in [info.name for info in index.methods], "packages are looked through when somebody asks"
    infos = {info.name: info for info in index.all_methods()}
    assert infos["fine"].package == "manners" and infos["fine"].available
    assert infos["bm25"].package == infos["auto"].package == ""
    assert "manners" not in sys.modules, "and none is loaded for that"
    assert {info.name for info in index.methods} == set(infos)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("unmade", "'unmade' of manners failed while it was loaded: RuntimeError: no␛[31m way."),
        ("missing", "'missing' of manners failed while it was loaded: AttributeError"),
        ("ungiven", "'ungiven' of manners failed while it was given what there is: KeyError: 'index'."),
        ("unasked", "'unasked' of manners failed while it searched: SystemError: search."),
        ("exiting", "'exiting' of manners failed while it was given what there is: SystemExit: 3."),
        ("nonsense", "'nonsense' of manners returned something that is not an Answer."),
        ("less", "'less' of manners is not a search method: it has no remove()."),
    ],
)
def test_a_method_that_fails_is_named_and_costs_itself_alone(
    manners: None, indexes: Make, name: str, said: str
) -> None:
    index = filled(indexes)
    for _ in range(2):
        with pytest.raises(MethodFailed) as told:
            index.ask_now("read", method=name)
        assert said in str(told.value) and told.value.hint == "Other methods are not concerned."
    assert names(index.ask_now("read")) == ["s.read"]
    assert len(names(index.ask_now("read", method="fine"))) == 2


def test_a_method_that_failed_is_listed_with_the_reason(manners: None, indexes: Make) -> None:
    index = filled(indexes)
    with pytest.raises(MethodFailed):
        index.ask_now("read", method="unmade")
    (info,) = (info for info in index.methods if info.name == "unmade")
    assert not info.available and "RuntimeError" in info.why_not


def test_what_a_method_says_of_a_question_is_told_as_it_is(manners: None, indexes: Make) -> None:
    index = filled(indexes)
    with pytest.raises(SearchProblem, match=r"^Ask me something else\.$") as told:
        index.ask_now("read", method="refusing")
    assert told.value.at == 2 and not isinstance(told.value, MethodFailed)


async def test_a_method_that_takes_too_long_is_not_waited_for(
    manners: None, indexes: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(serving, "FOREIGN", 0.05)
    monkeypatch.setattr(serving, "FOREIGN_FIRST", 0.05)

    index = filled(indexes)
    for _ in range(2):
        with pytest.raises(MethodFailed, match=r"'slow' of manners did not answer within 0\.05 seconds"):
            await index.ask("read", method="slow")
    with pytest.raises(MethodFailed, match="'slowlygiven' of manners did not answer"):
        await index.ask("read", method="slowlygiven")
    assert names(await index.ask("read")) == ["s.read"], "others answer meanwhile"
    module = sys.modules["manners"]
    module.Slow.end.set()
    module.SlowlyGiven.end.set()


def test_closing_does_not_wait_for_a_method_that_hangs(
    manners: None, monkeypatch: pytest.MonkeyPatch, indexes: Make
) -> None:
    monkeypatch.setattr(serving, "FOREIGN_FIRST", 0.5)
    index = filled(indexes)
    with pytest.raises(MethodFailed):
        index.ask_now("read", method="slow")
    index.close()
    for thread in (thread for thread in threading.enumerate() if thread.name.startswith("search")):
        if thread.name != "search slow":
            thread.join(10)
    (left,) = (thread for thread in threading.enumerate() if thread.name.startswith("search"))
    assert left.name == "search slow" and left.daemon
    sys.modules["manners"].Slow.end.set()
    left.join(10)


def test_a_method_that_fails_at_the_end_is_let_go(manners: None, indexes: Make) -> None:
    index = filled(indexes)
    assert len(index.ask_now("read", method="leaving").hits) == 2
    index.close()
    assert searching() == []


TOGETHER = """
import threading
together, ended = threading.Barrier(3), []
class One:
    def index(self, documents): pass
    def remove(self, refs): pass
    def search(self, query): return (), 0, ""
    def close(self): ended.append(together.wait(5))
"""


def test_all_have_the_same_time_to_end(plug: Plug, indexes: Make) -> None:
    plug("ending", TOGETHER, *(f"{name} = ending:One" for name in "abc"))
    index = filled(indexes)
    for name in "abc":
        index.ask_now("read", method=name)
    index.close()
    for thread in threading.enumerate():
        if thread.name.startswith("search"):
            thread.join(20)
    assert sorted(sys.modules["ending"].ended) == [0, 1, 2], "none waits for another one"
    assert searching() == []


OFFER = MethodOffer("odd", "odd", lambda: None, "package")  # pyright: ignore[reportArgumentType]
HERE = {Ref("tool", server, name) for server in "ab" for name in "xy"}
ALL = Query("q", 3, Scope(frozenset("a")))


def test_an_answer_is_sorted_and_without_what_is_not_there() -> None:
    hits = [
        Scored(Ref("tool", "a", "y"), 1), Scored(Ref("tool", "a", "y"), 2), Scored(Ref("tool", "a", "x"), 3),
        Scored(Ref("tool", "b", "x"), 9), Scored(Ref("tool", "a", "gone"), 9),
        Scored(Ref("tool", "a", "x"), float("nan")),
        Scored(Ref("tool", "a", "x"), float("inf")),
    ]  # fmt: skip
    answer = checked(OFFER, Answer(hits, 1, "note"), ALL, HERE.__contains__)
    assert [(hit.ref.name, hit.score) for hit in answer.hits] == [("x", 3.0), ("y", 2.0)]
    assert answer.total == 2 and answer.note == "note"
    same = [Scored(Ref("tool", "a", name), 1.0) for name in "yx"]
    assert [hit.ref.name for hit in checked(OFFER, Answer(same, 2), ALL, HERE.__contains__).hits] == ["x", "y"]
    assert len(checked(OFFER, Answer(same, 2), ALL._replace(limit=1), HERE.__contains__).hits) == 1


def test_an_answer_without_an_end_is_cut() -> None:
    def forever() -> Iterator[Scored]:
        while True:
            yield Scored(Ref("tool", "a", "x"), 1.0)

    assert len(checked(OFFER, (forever(), 1, ""), ALL, HERE.__contains__).hits) == 1


@pytest.mark.parametrize(
    "answer",
    [
        None, 42, "abc", (), ([1], 1, ""), ([Scored(Ref("tool", "a", "x"), None)], 1, ""),  # type: ignore[arg-type]
        ([Scored(None, 1.0)], 1, ""), ([Scored(("tool", [], {}), 1.0)], 1, ""), ([], "many", ""),  # type: ignore[arg-type]
        ([(Ref("tool", "a", "x"), 1.0, 5)], 1, ""), ([(Ref("tool", "a", "x"), 1.0, [("name",)])], 1, ""),
    ],
)  # fmt: skip
def test_an_answer_that_is_none_is_told(answer: object) -> None:
    with pytest.raises(MethodFailed, match="not an Answer"):
        checked(OFFER, answer, ALL, lambda _: True)


def test_texts_of_a_plug_in_are_bounded() -> None:
    hit = (Ref("tool", "a", "x"), 1.0, [("f" * 999, ["w" * 999] * 999, "t" * 99_999)])
    answer = checked(OFFER, ([hit], 1, "n" * 99_999), ALL, lambda _: True)
    (reason,) = answer.hits[0].reasons
    assert len(reason.field) <= 60 and len(reason.words) <= 50 and len(reason.words[0]) <= 200
    assert len(reason.text) <= 2_000 and len(answer.note) <= 2_000


def test_what_ends_the_program_is_not_held_up() -> None:
    def leave() -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        guarded(OFFER, "it searched", leave)


def test_a_second_method_of_a_name_is_left_out(plug: Plug) -> None:
    plug("first_package", "", "twice = first_package:One")
    plug("second_package", "", "twice = second_package:Two")
    assert {name: offer.package for name, offer in entry_points(("auto",)).items()} == {"twice": "first_package"}
