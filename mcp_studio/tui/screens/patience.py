"""How long a call of the open entry is waited for, where that is not what its server's entry says."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcp_studio.call.call import Call
from mcp_studio.config.model import Timeouts
from mcp_studio.tui import late

if TYPE_CHECKING:
    from mcp_studio.tui.opened import Opened
    from mcp_studio.tui.screens.main import MainScreen

_OWN = "0"
_SECONDS = (1, 5, 15, 60, 300, 1_800)


class Patience:
    """Deadlines by entry, for as long as the studio runs; starts calls with them."""

    def __init__(self, screen: MainScreen) -> None:
        self._screen = screen
        self._seconds: dict[str, float] = {}

    def start(self, opened: Opened, fresh: bool, *, approved: bool = False) -> Call:
        """Call, get or read what is open; `fresh` takes no earlier answer that was kept."""
        ref, studio = opened.entry.ref, self._screen.studio
        seconds = self._seconds.get(opened.key)
        timeouts = Timeouts(idle=seconds, total=seconds, option="as chosen for its calls")
        match ref.kind:
            case "tool":
                arguments = opened.value if isinstance(opened.value, dict) else {}
                return studio.call_tool(ref, arguments, approved=approved, task=opened.as_task, timeouts=timeouts)
            case "prompt":
                return studio.get_prompt(ref, opened.words(), timeouts=timeouts)
            case _:
                return studio.read_resource(ref.server, opened.uri(), fresh=fresh, timeouts=timeouts)

    def choose(self) -> None:
        """Choose the deadline of the open entry."""
        opened, app = self._screen.calling.opened, self._screen.studio_app
        if opened is None:
            app.say("Nothing is open yet. Choose something in the catalog (2) and press enter.", "warning")
            return
        key = opened.key

        def chosen(value: str | None) -> None:
            if value == _OWN:
                self._seconds.pop(key, None)
                app.say("Its calls have the deadlines of their server again.")
            elif value is not None:
                self._seconds[key] = float(value)
                app.say(f"Its calls are waited for {words(float(value))} from now on, progress or not.")

        options = [(_OWN, "as the server's entry says"), *((str(count), words(count)) for count in _SECONDS)]
        now = f"{self._seconds.get(key, 0):g}"
        self._screen.app.push_screen(late.choose("How long a call is waited for", options, now), chosen)


def words(seconds: float) -> str:
    """A duration in words: `5 seconds`, `1 minute`."""
    count, unit = (seconds, "second") if seconds < 60 else (seconds / 60, "minute")
    return f"{count:g} {unit}{'' if count == 1 else 's'}"
