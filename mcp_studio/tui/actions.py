"""Every action of the studio in one table.

Bindings, palette, footer, help, the key card of the documentation and `mcp-studio config keys` are made from `ACTIONS`.
An action's method is `action_<id>` of the widget or screen of its scope. The same id in several scopes is the same key
with the same meaning: `repeat` is `r` everywhere, and connects a server again, refreshes a list or re-runs a call.
Textual is imported only for `bindings`, so that the command line can print the table quickly.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Literal, NamedTuple

from mcp_studio.errors import nearest

if TYPE_CHECKING:
    from textual.binding import BindingType

Scope = Literal[
    "app", "main", "servers", "catalog", "tasks", "call", "history", "result", "trace", "list", "viewer", "json",
    "table", "form", "editor", "dialog", "run", "exchange", "sessions",
]  # fmt: skip
"""Where an action's keys work: everywhere, on the main screen, in a pane, in a kind of widget, in a dialog."""

PANES: tuple[Scope, ...] = ("servers", "catalog", "call", "result", "trace")


class Key(NamedTuple):
    """A meaning, and the keys that have this meaning everywhere."""

    keys: str
    """Keys separated by commas, in Textual's spelling."""
    meaning: str
    verbs: str = ""
    """How titles of its actions begin, as a pattern; the first word of the meaning if empty."""


KEYS: Mapping[str, Key] = {
    "palette": Key("ctrl+p,colon", "Palette: every action, tool, server, theme by name"),
    "help": Key("question_mark,f1", "Help for this pane"),
    "search": Key("ctrl+f", "Search everything"),
    "jump": Key("ctrl+o", "Jump to a pane or tab by a letter"),
    "pane_servers": Key("1", "Go to the servers", "Go to the servers"),
    "pane_catalog": Key("2,f6", "Go to the catalog", "Go to the catalog"),
    "pane_call": Key("3,f2", "Go to the call", "Go to the call"),
    "pane_result": Key("4,f5", "Go to the result", "Go to the result"),
    "pane_trace": Key("5,f8", "Go to the trace", "Go to the trace"),
    "next_pane": Key("tab", "Next pane"),
    "previous_pane": Key("shift+tab", "Previous pane"),
    "next_tab": Key("right_square_bracket,ctrl+pagedown", "Next tab of the pane"),
    "previous_tab": Key("left_square_bracket,ctrl+pageup", "Previous tab of the pane"),
    "zoom": Key("plus", "Zoom the pane"),
    "pending": Key("exclamation_mark", "Pending requests"),
    "new_server": Key("ctrl+n", "Add a server"),
    "back": Key("escape", "Back"),
    "quit": Key("ctrl+q,q", "Quit"),
    "open": Key("enter", "Open, go in"),
    "toggle_item": Key("space", "Toggle: connect, mark, fold"),
    "find": Key("slash", "Find, filter", "Find|Filter"),
    "next_match": Key("n", "Find the next", "Find the next"),
    "previous_match": Key("N", "Find the previous", "Find the previous"),
    "copy": Key("y", "Copy"),
    "copy_as": Key("c", "Copy as…", "Copy .+ as"),
    "copy_path": Key("Y", "Copy the path of the value", "Copy the path"),
    "repeat": Key("r", "Re-run, retry, refresh", "Re-run|Re-send|Reconnect|Refresh"),
    "cancel": Key("x", "Cancel"),
    "save": Key("s", "Save to a file"),
    "edit": Key("e", "Edit"),
    "add": Key("a", "Add"),
    "delete": Key("d", "Delete"),
    "mark": Key("m", "Mark"),
    "follow": Key("f", "Follow"),
    "open_outside": Key("o", "Open outside, or from outside: browser, program, file", "Open (from )?outside"),
    "details": Key("i", "Details, statistics", "Details|Statistics"),
    "compare": Key("equals_sign", "Compare with…"),
    "query": Key("vertical_line", "Query by JMESPath"),
    "submit": Key("ctrl+j,ctrl+enter", "Call, accept, save", "Call|Accept"),
    "field_menu": Key("ctrl+k", "Field menu"),
    "editor": Key("ctrl+e", "Edit in $EDITOR", r"Edit .+ in \$EDITOR"),
    "next_problem": Key("ctrl+g", "Go to the next problem", "Go to the next problem"),
    "save_call": Key("ctrl+s", "Save the call", "Save the call"),
    "undo": Key("ctrl+z", "Undo"),
    "redo": Key("ctrl+y", "Redo"),
    "cursor_up": Key("up,k", "Up"),
    "cursor_down": Key("down,j", "Down"),
    "page_up": Key("pageup", "Page up"),
    "page_down": Key("pagedown", "Page down"),
    "first": Key("home,g", "First"),
    "last": Key("end,G", "Last"),
    "fold": Key("left,h", "Fold, go out"),
    "unfold": Key("right,l", "Unfold, go in"),
}  # fmt: skip
MOVEMENT = ("cursor_up", "cursor_down", "page_up", "page_down", "first", "last", "fold", "unfold")


class Action(NamedTuple):
    """Something that a person can do in one scope. An action without a row in `KEYS` has no key, only its name."""

    id: str
    title: str
    scope: Scope
    show: bool = False
    """Whether the footer shows the action while its scope has the focus."""
    also: str = ""
    """Further words by which the palette finds the action."""
    short: str = ""
    """The title in the footer, if the full title is too long."""

    @property
    def keys(self) -> str:
        """The action's keys in Textual's spelling; empty if it has none."""
        return KEYS[self.id].keys if self.id in KEYS else ""


ACTIONS: tuple[Action, ...] = (
    # Everywhere
    Action("quit", "Quit", "app", also="exit leave close"),
    # The main screen
    Action("cancel", "Cancel the call", "main", show=True, also="stop", short="Cancel"),
    Action("pending", "Pending requests", "main", show=True, also="elicitation sampling questions", short="Pending"),
    Action("back", "Back", "main", show=True),
    Action("quit", "Quit", "main", show=True, also="exit leave close"),
    Action("palette", "Palette: everything by name", "main", show=True, also="commands actions", short="Palette"),
    Action("help", "Help for this pane", "main", show=True, also="keys shortcuts", short="Help"),
    Action("about", "About: versions, files, limits", "main", also="doctor version config paths keyring"),
    Action("change_theme", "Change the theme", "main", also="colours colors dark light"),
    Action("search", "Search everything", "main", show=True, also="find tools resources prompts", short="Search"),
    Action("jump", "Jump to a pane or tab", "main"),
    Action("pane_servers", "Go to the servers", "main"),
    Action("pane_catalog", "Go to the catalog", "main", also="tools resources prompts"),
    Action("pane_call", "Go to the call", "main", also="form arguments"),
    Action("pane_result", "Go to the result", "main", also="output"),
    Action("pane_trace", "Go to the trace, or close it", "main", also="messages wire log"),
    *(Action(id, KEYS[id].meaning, "main") for id in ("next_pane", "previous_pane", "next_tab", "previous_tab")),
    Action("zoom", "Zoom the pane", "main", also="maximize fullscreen"),
    Action("new_server", "Add a server", "main", also="new connect paste"),
    Action("submit", "Call, read or get", "main", also="run send execute"),
    Action("save_call", "Save the call", "main", also="bookmark"),
    Action("copy_as", "Copy the call as…", "main", also="curl python command json"),
    Action("workflows", "Workflow: run a plan over tools, step by step", "main", also="workflows steps run file chain"),
    Action("activity", "Activity: what runs, and what is pending", "main", also="progress running tasks board"),
    Action("answer_rule", "Answer rule: answer such requests automatically from now on", "main", also="automatic"),
    Action("logs", "Log messages of all servers", "main", also="logging level"),
    Action("forget", "Forget all cached results of resources", "main", also="cache invalidate fresh"),
    Action("reset_layout", "Give every pane its first size again", "main", also="layout borders"),
    # Pane 1
    Action("open", "Open the server: its details", "servers", show=True, also="capabilities stderr", short="Details"),
    Action("details", "Details of the server", "servers"),
    Action("toggle_item", "Toggle: connect or disconnect", "servers", show=True, also="start stop on", short="On/off"),
    Action("repeat", "Reconnect the server", "servers", also="restart retry"),
    Action("find", "Filter the servers", "servers"),
    Action("copy", "Copy the server's name", "servers"),
    Action("add", "Add a server", "servers", also="new"),
    Action("edit", "Edit the server", "servers", also="change configure"),
    Action("delete", "Delete the server", "servers", also="remove"),
    Action("export_servers", "Write servers to another client…", "servers", also="export cursor claude vscode"),
    Action("sign_in", "Sign in to the server", "servers", also="oauth login authorize"),
    Action("token", "Token of the server", "servers", also="oauth scopes sign out logout"),
    Action("prefer", "Prefer the server in its group", "servers", also="failover route"),
    Action("drain", "Drain the server: its group sends it no more calls", "servers", also="failover route"),
    Action("release", "Release the server: route its group as configured again", "servers", also="failover route"),
    Action("forget", "Forget the cached results of the server", "servers", also="cache invalidate fresh"),
    Action("roots", "Roots of the server", "servers", also="folders"),
    Action("console", "Console: send any message to the server", "servers", also="raw json-rpc request"),
    Action("server_logs", "Log messages of the server, and their level", "servers", also="logging"),
    Action("exit_report", "Exit report: how the server ended", "servers", also="crash died post-mortem"),
    Action("unexpected_output", "Unexpected output of the server on stdout", "servers", also="stray print"),
    # Pane 2
    Action("open", "Open: go to its form, or read it", "catalog", show=True, short="Open"),
    Action("toggle_item", "Toggle: fold or unfold the server", "catalog"),
    Action("find", "Filter the list", "catalog", show=True, short="Filter"),
    Action("copy", "Copy its name", "catalog"),
    Action("repeat", "Refresh the lists", "catalog", also="reload list again"),
    Action("query", "Query the list by JMESPath", "catalog", also="jmespath pipe select filter json"),
    Action("follow", "Follow the resource: subscribe or unsubscribe", "catalog", also="watch"),
    Action("forget", "Forget the cached result of the resource", "catalog", also="cache invalidate fresh"),
    Action("mark_seen", "Mark all changes as seen", "catalog", also="new changed gone"),
    Action("accept_change", "Accept the tool's new definition", "catalog", also="pin definition differs drift"),
    Action("pages", "Read the list page by page", "catalog", also="cursor pagination"),
    Action("open", "Open the task: its details", "tasks", show=True, short="Open"),
    Action("repeat", "Refresh the task: ask its server now", "tasks", show=True, also="poll", short="Refresh"),
    Action("cancel", "Cancel the task", "tasks", show=True, also="stop", short="Cancel"),
    Action("delete", "Delete the task from the list", "tasks", also="remove"),
    Action("copy", "Copy the task's id", "tasks"),
    # Pane 3
    Action("submit", "Call, read or get", "call", show=True, short="Call"),
    Action("edit", "Edit the arguments as JSON", "call"),
    Action("delete", "Delete what was typed into the form", "call", also="clear forget reset"),
    Action("follow", "Follow the resource: subscribe or unsubscribe", "call", also="watch"),
    Action("example", "Fill the form with an example", "call", also="sample generate"),
    Action("background", "Let the task go on in the background", "call"),
    Action("saved_calls", "Saved calls", "call", also="bookmarks favourites"),
    Action("paste_call", "Paste a call: JSON, a command line, curl", "call", also="import clipboard"),
    Action("load_test", "Load test: call what is shown many times", "call", also="benchmark stress parallel"),
    Action("open", "Open it in the form", "history", show=True, also="fill", short="Fill"),
    Action("repeat", "Re-run it", "history", show=True, short="Re-run"),
    Action("copy", "Copy its arguments as JSON", "history"),
    Action("mark", "Mark or unmark it as a step of a workflow", "history", show=True, also="chain plan", short="Mark"),
    Action("save", "Save the marked calls as a workflow", "history", also="export chain plan"),
    Action("edit", "Edit the name of the saved call", "history", also="rename"),
    Action("open_outside", "Open outside: the file of the saved call in $EDITOR", "history"),
    Action("delete", "Delete it", "history"),
    # Pane 4
    Action("repeat", "Re-run the call", "result", show=True, also="again retry", short="Re-run"),
    Action("copy", "Copy what is shown", "result", show=True, short="Copy"),
    Action("save", "Save the result to files", "result", show=True, also="export write image", short="Save"),
    Action("open_outside", "Open outside: the link, image or page in its program", "result", also="browser"),
    Action("compare", "Compare with the result before", "result", also="diff"),
    Action("find", "Find in the result", "result", also="search"),
    Action("query", "Query the result by JMESPath", "result", also="jmespath pipe select extract jq"),
    Action("markdown", "Render the text as Markdown, or show it as it is", "result", also="raw source rendered"),
    # Pane 5
    Action("open", "Open the exchange", "trace", show=True, also="request response timeline", short="Open"),
    Action("find", "Filter by a query", "trace", show=True, also="search where", short="Filter"),
    Action("toggle_item", "Toggle: fold refreshes of lists into one row, or unfold", "trace", also="hide noise"),
    Action("follow", "Follow the newest: on or off", "trace", show=True, also="tail live", short="Follow"),
    Action("repeat", "Re-send with your edits", "trace", also="replay again fill catalog"),
    Action("resend_now", "Re-send as it was, and compare the responses", "trace", also="replay again"),
    Action("resend_many", "Re-send what is marked or filtered, or everything", "trace", also="replay again"),
    Action("mark", "Mark or unmark the message", "trace", also="bookmark"),
    Action("edit", "Edit the comment on the message", "trace", also="note annotate"),
    Action("next_match", "Find the next message with a mark or comment", "trace", also="bookmark"),
    Action("previous_match", "Find the previous message with a mark or comment", "trace", also="bookmark"),
    Action("copy", "Copy the message", "trace"),
    Action("copy_as", "Copy the call as…", "trace", also="curl python command json"),
    Action("compare", "Compare with another message", "trace", also="diff"),
    Action("query", "Query the message by JMESPath", "trace", also="jmespath pipe select extract jq"),
    Action("details", "Statistics: how often, how fast, what failed", "trace", also="latency metrics numbers p95"),
    Action("save", "Save the trace: export it", "trace", also="bundle jsonl markdown report opentelemetry collector"),
    Action("open_outside", "Open from outside: an earlier session, a file", "trace", also="past recording bundle"),
    Action("go_live", "Back to what is being recorded now", "trace", also="session"),
    Action("breakpoints", "Breakpoints: hold, edit, drop or answer messages", "trace", also="intercept held tap"),
    Action("exit_report", "Exit reports: how servers ended", "trace", also="crash died post-mortem"),
    # In lists and viewers
    *(Action(id, KEYS[id].meaning, "list") for id in MOVEMENT[:6]),
    Action("find", "Find", "viewer"),
    *(Action(id, KEYS[id].meaning, "viewer") for id in ("next_match", "previous_match")),
    Action("copy", "Copy what is selected, or all of it", "viewer", show=True, also="clipboard yank", short="Copy"),
    Action("back", "Back: end the search", "viewer", show=True, short="End"),
    *(Action(id, KEYS[id].meaning, "json") for id in MOVEMENT[6:]),
    Action("toggle_item", "Toggle: fold or unfold", "json"),
    Action("copy_path", "Copy the path of the value", "json", also="JSON pointer"),
    Action("toggle_item", "Toggle the order of the column", "table", also="sort by"),
    Action("copy", "Copy the value of the cell", "table", also="clipboard yank"),
    Action("copy_as", "Copy the table as CSV", "table", also="export spreadsheet"),
    # In forms
    Action("field_menu", "Field menu", "form", show=True, also="null omit empty date uuid paste", short="Menu"),
    Action("editor", "Edit the field in $EDITOR", "form"),
    Action("next_problem", "Go to the next problem", "form", show=True, short="Problem"),
    *(Action(id, KEYS[id].meaning, "form") for id in ("undo", "redo")),
    Action("editor", "Edit the whole value in $EDITOR", "editor"),
    Action("next_problem", "Go to the next problem", "editor"),
    # In dialogs
    Action("repeat", "Re-send with your edits", "exchange"),
    Action("copy", "Copy the value, text or message", "exchange"),
    Action("copy_as", "Copy the call as…", "exchange"),
    Action("compare", "Compare with another message", "exchange", show=True, short="Compare"),
    Action("mark", "Mark or unmark the message", "exchange", show=True, short="Mark"),
    Action("edit", "Edit the comment on the message", "exchange"),
    Action("cancel", "Cancel what runs", "run", show=True, also="stop", short="Cancel"),
    Action("copy", "Copy the path of the session's file", "sessions"),
    Action("delete", "Delete the session", "sessions"),
    Action("help", "Help for this dialog", "dialog", show=True, short="Help"),
    Action("submit", "Accept: press the first button", "dialog", show=True),
    Action("next_tab", "Next tab", "dialog", show=True),
    Action("previous_tab", "Previous tab", "dialog"),
    Action("back", "Back", "dialog", show=True),
)

_OPEN = {("colon", "main"), ("slash", "servers"), ("slash", "catalog"), ("slash", "trace"), ("slash", "result")}
"""Keys that open a field, with their scope. The text typed after them belongs to the field; in it they are letters."""
UNBOUND = "no_key"
"""The key in bindings of actions that have none, until the person gives them one."""
_NAMES = {
    "question_mark": "?", "exclamation_mark": "!", "slash": "/", "plus": "+", "left_square_bracket": "[",
    "right_square_bracket": "]", "escape": "esc", "pageup": "pgup", "pagedown": "pgdn", "colon": ":",
    "equals_sign": "=", "vertical_line": "|",
}  # fmt: skip


def spell(key: str) -> str:
    """One key as people write it: `^j`, `?`, `F8`."""
    *modifiers, last = key.strip().split("+")
    last = _NAMES.get(last, last)
    if len(last) > 1 and last[0] == "f" and last[1:].isdigit():
        last = last.upper()
    return f"^{last}" if modifiers == ["ctrl"] and last != "enter" else "+".join((*modifiers, last))


def spell_all(keys: str) -> str:
    """All keys of an action as people write them, separated by spaces."""
    return " ".join(spell(key) for key in keys.split(",") if key.strip())


def scoped(*scopes: Scope) -> tuple[Action, ...]:
    """The actions of some scopes, in the table's order."""
    return tuple(action for action in ACTIONS if action.scope in scopes)


def bindings(*scopes: Scope) -> list[BindingType]:
    """Textual's bindings of some scopes. Each binding has the id of its action, so that `[keys]` can change its keys.

    Keys with ctrl act before the focused field gets them; letters belong to the field. A key that opens a field acts
    first, too, because the letters typed next belong to that field; and once more after the keys before it, which may
    have moved the focus.
    """
    from textual.binding import Binding

    found: list[BindingType] = []
    for id, title, scope, show, _, short in scoped(*scopes):
        keys = KEYS[id].keys.split(",") if id in KEYS else [UNBOUND]
        for priority in (True, False):
            if some := [key for key in keys if key.startswith("ctrl+") == priority or (key, scope) in _OPEN]:
                first = show and some[0] == keys[0]
                joined = ",".join(some)
                found.append(Binding(joined, id, short or title, first, priority=priority, tooltip=title, id=id))
    return found


def remap(settings: Mapping[str, str]) -> tuple[dict[str, str], tuple[str, ...]]:
    """Check `[keys]` of config.toml: the valid part, and a sentence for every invalid entry."""
    good: dict[str, str] = {}
    problems: list[str] = []
    known = {action.id for action in ACTIONS}
    for name, keys in settings.items():
        id = name.replace("-", "_")
        wanted = ",".join(key.strip() for key in keys.split(",") if key.strip())
        if id not in known:
            problems.append(f"[keys] {name}: there is no such action. {nearest(id, known)}".rstrip())
        elif not wanted:
            problems.append(f"[keys] {name}: no key is given.")
        else:
            good[id] = wanted
    return good, (*problems, *_clashes(good))


def _clashes(changed: dict[str, str]) -> Iterator[str]:
    """Report two meanings of one key that the person's file has caused."""
    taken: dict[str, str] = {}
    for id, keys in ({action.id: action.keys for action in ACTIONS} | changed).items():
        for key in filter(None, keys.split(",")):
            other = taken.setdefault(key, id)
            if other != id and {other, id} & changed.keys():
                yield f"[keys] {spell(key)} is both {other} and {id}."


def table(changed: Mapping[str, str] | None = None) -> list[tuple[str, str, str, str]]:
    """Rows of scope, id, keys as written, and title, for documentation and `config keys`."""
    return [(a.scope, a.id, spell_all((changed or {}).get(a.id, a.keys)), a.title) for a in ACTIONS]
