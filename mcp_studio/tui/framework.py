"""The one place where private parts of Textual are used, each with its reason."""

from __future__ import annotations

from textual.app import App


class CrashingApp(App[int]):
    """An app that ends at a mistake of its own without printing local variables, which may hold tokens.

    Textual prints a traceback with locals, and has no setting or hook for another report (`App._fatal_error`).
    `run.py` writes a redacted report of `failure`.
    """

    failure: Exception | None = None
    """The mistake that ended the app."""

    def _handle_exception(self, error: Exception) -> None:
        self.failure = self.failure or error
        self._return_code = 1
        if self._exception is None:  # `run_test` raises it
            self._exception = error
            self._exception_event.set()
        self._close_messages_no_wait()
