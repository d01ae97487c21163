"""Every action of the studio in one table.

Key bindings, the command palette, the footer, the help of each pane, the key table of the documentation and
`mcp-studio config keys` are all made from `ACTIONS`. Imports nothing of Textual, so that the command line can print it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, NamedTuple

from mcp_studio.tui import (
    aid_keys,
    asking_keys,
    auth_keys,
    console_keys,
    copy_keys,
    dialog_keys,
    ending_keys,
    form_keys,
    log_keys,
    memory_keys,
    number_keys,
    search_keys,
    task_keys,
    trace_keys,
    view_keys,
)

Scope = Literal[
    "app", "main", "servers", "catalog", "call", "result", "trace", "list", "viewer", "history", "saved", "ask",
    "server dialog", "import", "question", "approval", "confirm", "trust", "choice", "save",
    "trace detail", "detail", "dialog", "log", "pages", "page", "sampling", "board", "rule", "roots",
    "tasks", "task", "console", "copy as", "fill", "when", "file", "paste", "json", "form", "example",
    "comment", "difference", "sessions", "path", "export", "replay", "replay choice",
    "mortem", "stray", "statistics", "load", "details", "sign in", "exchanges", "token", "passphrase",
    "search", "search servers",
]  # fmt: skip
"""Where an action's keys act: everywhere, on the main screen, in one pane, in a kind of widget, in one dialog."""

PANES: tuple[Scope, ...] = ("servers", "catalog", "call", "result", "trace")


class Action(NamedTuple):
    """One thing that a person can do."""

    id: str
    """Its name in `[keys]` of config.toml."""
    keys: str
    """Comma-separated, spelled as Textual spells keys."""
    method: str
    """The `action_…` method of the widget or screen of its scope."""
    title: str
    scope: Scope
    show: bool = False
    """Offered in the footer while its scope has the focus."""
    priority: bool = False
    """Acts before the focused input sees the key."""
    short: str = ""
    """Title for the footer, where the full one is too long."""


def _scope(scope: Scope, *rows: tuple[str, str, str, str, str]) -> tuple[Action, ...]:
    """Rows of id, keys, method, title, and title in the footer (empty: not there); `!` before the keys is priority."""
    return tuple(
        Action(id, keys.removeprefix("!"), method, title, scope, bool(short), keys.startswith("!"), short)
        for id, keys, method, title, short in rows
    )


ACTIONS: tuple[Action, ...] = (
    *_scope(
        "app",
        ("help", "f1,question_mark", "help", "Help for the focused pane", "Help"),
        ("commands", "!ctrl+p", "commands", "All commands", "Commands"),
        ("questions", "f4,exclamation_mark", "questions", "Answer what servers ask", ""),
        ("board", "f7,b", "board", "What runs, and what waits for you", ""),
        ("make-rule", "!alt+r", "make_rule", "Make a rule of the answer just given", ""),
        ("about", "f12,i", "about", "What is running: versions, files, limits", ""),
        ("logs", "f3,alt+l", "logs", "Log messages of all servers", ""),
        *copy_keys.APP,
        *number_keys.APP,
        ("theme", "alt+t", "theme", "Change the theme", ""),
        ("quit", "!ctrl+q", "quit", "Quit", ""),
    ),
    *_scope(
        "main",
        ("focus-servers", "1", "focus_pane('servers')", "Go to the servers", ""),
        ("focus-catalog", "f6,2", "focus_pane('catalog')", "Go to the catalog", ""),
        ("focus-call", "f2,3", "focus_pane('call')", "Go to the call", ""),
        ("focus-result", "f5,4", "focus_pane('result')", "Go to the result", ""),
        ("focus-trace", "f8,5", "focus_pane('trace')", "Go to the trace, or put it away", "Trace"),
        ("call", "!ctrl+j,alt+enter,ctrl+enter", "call", "Run: call, read or get what is open", "Call"),
        ("jump", "!ctrl+o", "jump", "Jump: letters over panes", "Jump"),
        ("zoom", "f10,plus", "zoom", "Zoom the focused pane", ""),
        ("sidebar", "f9,ctrl+b", "sidebar", "Hide or show the left side", ""),
        ("tab-previous", "ctrl+pageup,left_square_bracket", "turn_tab(-1)", "Previous tab of the pane", ""),
        ("tab-next", "ctrl+pagedown,right_square_bracket", "turn_tab(1)", "Next tab of the pane", "Tab"),
        ("new-server", "ctrl+n", "new_server", "Add a server", ""),
        ("refresh", "ctrl+r", "refresh", "List again what the server offers", ""),
        ("watch", "alt+s", "watch", "Watch the open resource, or no longer", ""),
        ("back", "escape", "back", "Step back", ""),
        *search_keys.MAIN,
        *trace_keys.MAIN,
        *task_keys.MAIN,
        *memory_keys.MAIN,
    ),
    *_scope(
        "servers",
        ("server-open", "!enter", "open", "Details, warnings and stderr", "Details"),
        ("server-toggle", "!space", "toggle_server", "Connect or disconnect", "On/off"),
        ("server-filter", "!slash", "filter", "Filter by name, address or state as you type", ""),
        ("server-restart", "r", "restart", "Connect again now", "Restart"),
        ("server-add", "n", "add", "Add a server", "New"),
        ("server-edit", "e", "edit", "Edit the server", "Edit"),
        ("server-delete", "d", "delete", "Remove the server, after asking", ""),
        ("server-copy", "y", "copy", "Copy its name", ""),
        ("server-logs", "l", "logs", "Its log messages, and their level", "Logs"),
        ("server-roots", "f", "roots", "Roots: the folders that it is told of", ""),
        *console_keys.SERVERS, *auth_keys.SERVERS, *ending_keys.SERVERS,
    ),
    *_scope(
        "catalog",
        ("catalog-open", "!enter", "open", "Open it", "Open"),
        ("catalog-filter", "!slash", "filter", "Filter as you type", "Filter"),
        *copy_keys.CATALOG,
        ("catalog-watch", "s", "watch", "Watch the resource: subscribe to its changes, or no longer", ""),
        ("catalog-seen", "a", "mark_seen", "Mark all as seen: nothing is new, changed or gone any more", ""),
        ("catalog-pages", "p", "pages", "Read the list page by page, as it comes", ""),
    ),
    *_scope("tasks", *task_keys.LIST),
    *_scope("history", *memory_keys.HISTORY),
    *_scope("saved", *memory_keys.SAVED),
    *_scope("ask", *memory_keys.ASK),
    *_scope(
        "call",
        ("call-cancel", "x", "cancel", "Stop what is running", ""),
        ("call-copy", "y", "copy", "Copy the value under the cursor of the definition", ""),
        ("call-edit", "e", "edit", "Edit the arguments as JSON", ""),
        *aid_keys.CALL,
        *copy_keys.CALL,
        ("call-deadline", "alt+w", "deadline", "How long calls of this entry are waited for", ""),
        ("call-clear", "d", "clear", "Forget the typed arguments", ""),
        ("call-watch", "s", "watch", "Watch the resource: subscribe to its changes, or no longer", ""),
    ),
    *_scope("form", *form_keys.FORM),
    *_scope(
        "result",
        ("result-copy", "y", "copy", "Copy what is shown", "Copy"),
        ("result-save", "w", "want('save')", "Save the result, its images and files", "Save"),
        ("result-again", "r", "want('again')", "Run it again", "Again"),
        ("result-cancel", "x", "want('cancel')", "Stop what is running", ""),
        *copy_keys.RESULT, *ending_keys.RESULT,
        ("block-next", "n", "turn_block(1)", "Content: next block", ""),
        ("block-previous", "N", "turn_block(-1)", "Content: block before", ""),
        ("result-open", "o", "open_block", "Open the file, page or link under the cursor in its program", ""),
        ("result-watch", "s", "want('watch')", "Watch the resource: subscribe to its changes, or no longer", ""),
    ),
    *_scope(
        "trace",
        ("trace-open", "!enter", "open", "Its exchange: times, request, response, children, stderr …", "Detail"),
        ("trace-filter", "!slash", "filter", "Filter: words, tool:… status:error >500ms …", "Filter"),
        ("trace-follow", "f", "follow", "Follow the newest", "Follow"),
        ("trace-copy", "y", "copy", "Copy as JSON", "Copy"),
        *trace_keys.TRACE,
        *copy_keys.TRACE, *ending_keys.TRACE,
        *console_keys.TRACE,
    ),
    *_scope("list", *view_keys.LIST),
    *_scope("viewer", *view_keys.VIEWER),
    *_scope("server dialog", *dialog_keys.SERVER),
    *_scope("import", *dialog_keys.IMPORT),
    *_scope("question", *asking_keys.QUESTION),
    *_scope("page", *asking_keys.PAGE),
    *_scope("sampling", *asking_keys.SAMPLING),
    *_scope("rule", *asking_keys.RULE),
    *_scope("board", *asking_keys.BOARD),
    *_scope("roots", *asking_keys.ROOTS),
    *_scope("approval", *asking_keys.APPROVAL),
    *_scope("task", *task_keys.DIALOG),
    *_scope("confirm", *dialog_keys.CONFIRM),
    *_scope("trust", *dialog_keys.TRUST),
    *_scope("choice", *dialog_keys.CHOICE),
    *_scope("save", *dialog_keys.SAVE),
    *_scope("pages", *dialog_keys.PAGES),
    *_scope("search", *search_keys.SEARCH),
    *_scope("search servers", *search_keys.SERVERS),
    *_scope("log", *log_keys.LOG),
    *_scope("statistics", *number_keys.STATISTICS),
    *_scope("load", *number_keys.LOAD),
    *_scope("console", *console_keys.CONSOLE),
    *_scope("copy as", *copy_keys.COPY),
    *_scope("fill", *copy_keys.FILL),
    *_scope("example", *aid_keys.EXAMPLE),
    *_scope("json", *aid_keys.JSON),
    *_scope("when", *aid_keys.WHEN),
    *_scope("details", *auth_keys.DETAILS),
    *_scope("sign in", *auth_keys.SIGN_IN),
    *_scope("exchanges", *auth_keys.EXCHANGES),
    *_scope("token", *auth_keys.TOKEN),
    *_scope("passphrase", *auth_keys.PASSPHRASE),
    *_scope("mortem", *ending_keys.MORTEM),
    *_scope("stray", *ending_keys.STRAY),
    *_scope("comment", *trace_keys.COMMENT),
    *_scope("difference", *trace_keys.DIFFERENCE),
    *_scope("sessions", *trace_keys.SESSIONS),
    *_scope("path", *trace_keys.PATH),
    *_scope("export", *trace_keys.EXPORT),
    *_scope("replay", *trace_keys.REPLAY),
    *_scope("replay choice", *trace_keys.REPLAY_CHOICE),
    *_scope("file", *aid_keys.FILE),
    *_scope("paste", *aid_keys.PASTE),
    *_scope(
        "detail",
        ("part-copy", "y", "copy", "Copy the value under the cursor", "Copy"),
        *trace_keys.PART,
        *copy_keys.PART,
        *console_keys.PART,
    ),
    *_scope(
        "trace detail",
        ("detail-next", "right_square_bracket,tab", "turn(1)", "Next tab", "Next tab"),
        ("detail-previous", "left_square_bracket,shift+tab", "turn(-1)", "Previous tab", ""),
        ("detail-copy", "y", "copy", "Copy the value under the cursor", "Copy"),
        *trace_keys.DETAIL,
        *copy_keys.DETAIL,
        *console_keys.DETAIL,
        ("detail-close", "escape,q", "close", "Back", "Close"),
    ),
    *_scope(
        "dialog",
        ("dialog-close", "escape,q", "close", "Close", "Close"),
        ("dialog-copy", "y", "copy", "Copy", "Copy"),
    ),
)  # fmt: skip

BY_ID: Mapping[str, Action] = {action.id: action for action in ACTIONS}

_NAMES = {
    "question_mark": "?", "exclamation_mark": "!", "slash": "/", "plus": "+", "left_square_bracket": "[",
    "right_square_bracket": "]", "escape": "esc", "comma": ",", "pageup": "pgup", "pagedown": "pgdn",
    "full_stop": ".", "colon": ":", "minus": "-",
}  # fmt: skip


def spell(key: str) -> str:
    """One key as people write it: `^j`, `?`, `alt+enter`, `F8`."""
    *modifiers, last = key.strip().split("+") if key.strip() != "+" else ["plus"]
    last = _NAMES.get(last, last)
    if len(last) > 1 and last[0] == "f" and last[1:].isdigit():
        last = last.upper()
    if modifiers == ["ctrl"] and last != "enter":
        return f"^{last}"
    return "+".join((*modifiers, last))


def spell_all(keys: str) -> str:
    """All keys of an action as people write them, separated by spaces."""
    return " ".join(spell(key) for key in keys.split(",") if key.strip())


def scoped(*scopes: Scope) -> tuple[Action, ...]:
    """The actions of some scopes, in the table's order."""
    return tuple(action for action in ACTIONS if action.scope in scopes)


def remap(settings: Mapping[str, str]) -> tuple[dict[str, str], tuple[str, ...]]:
    """Check `[keys]` of config.toml: the usable part, and a sentence for everything that is not."""
    good: dict[str, str] = {}
    problems: list[str] = []
    for name, keys in settings.items():
        wanted = ",".join(key.strip() for key in keys.split(",") if key.strip())
        if name not in BY_ID:
            from difflib import get_close_matches

            near = get_close_matches(name, BY_ID, 1)
            problems.append(f"[keys] {name}: there is no such action" + (f"; did you mean {near[0]}?" if near else "."))
        elif not wanted:
            problems.append(f"[keys] {name}: no key is given.")
        else:
            good[name] = wanted
    return good, (*problems, *_clashes(good))


def _clashes(changed: Mapping[str, str]) -> list[str]:
    """Two actions of one scope on one key, where the person's file made it so."""
    found: list[str] = []
    taken: dict[tuple[Scope, str], str] = {}
    for action in ACTIONS:
        for key in changed.get(action.id, action.keys).split(","):
            other = taken.setdefault((action.scope, key), action.id)
            if other != action.id and {other, action.id} & changed.keys():
                found.append(f"[keys] {spell(key)} is both {other} and {action.id}; only the first of them acts.")
    return found


def table(changed: Mapping[str, str] | None = None) -> list[tuple[str, str, str, str]]:
    """Rows of scope, id, keys as written, and title, for documentation and `config keys`."""
    keys = changed or {}
    return [(a.scope, a.id, spell_all(keys.get(a.id, a.keys)), a.title) for a in ACTIONS]
