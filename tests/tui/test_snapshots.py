"""Pictures of the main screen in five sizes, of its panes, and of every dialog, on a studio whose facts are fixed.

After a change that is meant, draw them anew, and look at what changed before it is committed:

    pytest -n 0 tests/tui/test_snapshots.py --snapshot-update

No server is started: what would come from one is put into the stores, and the clock stands still. `About` is left out,
since it tells of versions and of the machine.
"""

from __future__ import annotations

import os
import time
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from pytest_textual_snapshot import SVGImageExtension
from syrupy.assertion import SnapshotAssertion
from textual.command import CommandList
from textual.pilot import Pilot
from textual.screen import Screen
from textual.widgets import DirectoryTree, Input, TextArea

from mcp_studio.auth.model import AuthExchange, AuthStep, Client, Grant
from mcp_studio.call.call import Call, Succeeded
from mcp_studio.call.history import Past
from mcp_studio.call.saved import Folders
from mcp_studio.catalog.listing import Entry, EntryKind, Listing, Ref, salvage
from mcp_studio.config.load import TrustStore
from mcp_studio.config.model import Config, ServerConfig, Settings, Untrusted
from mcp_studio.errors import Unreachable
from mcp_studio.jsontext import Json
from mcp_studio.paths import Paths
from mcp_studio.present.blocks import blocks_of
from mcp_studio.session.inbox import Answer, InputRequest, QuestionKind
from mcp_studio.session.state import Status
from mcp_studio.session.tasks import Task, TaskChange
from mcp_studio.signal import Signal
from mcp_studio.studio import Studio
from mcp_studio.trace.disk.sessions import SessionInfo
from mcp_studio.trace.postmortem import Ending, Mortem
from mcp_studio.tui.app import StudioApp
from mcp_studio.tui.main_screen import MainScreen
from mcp_studio.tui.screens.answer_rule import AnswerRuleDialog
from mcp_studio.tui.screens.approval import Approval
from mcp_studio.tui.screens.compare import Compare, Side
from mcp_studio.tui.screens.dialog import Confirm
from mcp_studio.tui.screens.elicitation import Elicitation, UrlElicitation
from mcp_studio.tui.screens.exit_report import ExitReport
from mcp_studio.tui.screens.field_menu import FieldHelp
from mcp_studio.tui.screens.import_servers import FirstStart, ImportServers
from mcp_studio.tui.screens.insert import InsertFile, Paste
from mcp_studio.tui.screens.project_trust import ProjectTrust
from mcp_studio.tui.screens.result_parts import Picture
from mcp_studio.tui.screens.sampling import Sampling
from mcp_studio.tui.screens.save_call import SaveCall
from mcp_studio.tui.screens.secrets import Passphrase
from mcp_studio.tui.screens.sessions import Sessions
from mcp_studio.tui.screens.sign_in import Exchanges, SignInDialog
from mcp_studio.tui.screens.task import TaskDialog
from mcp_studio.tui.screens.token_view import TokenView

NOW = 1_800_000_000.0
USUAL = (110, 32)
BOOK: dict[str, Json] = {
    "name": "add_book",
    "title": "Add a book",
    "description": "Put a new book on its shelf.",
    "inputSchema": {
        "type": "object",
        "properties": {
            "title": {"type": "string", "description": "As on the cover"},
            "genre": {"type": "string", "enum": ["poetry", "science"]},
            "year": {"type": "integer", "minimum": 1450},
            "signed": {"type": "boolean", "default": False},
            "extra": {"type": "object", "properties": {"shelf": {"type": "string"}, "price": {"type": "number"}}},
        },
        "required": ["title"],
    },
}
TOOLS = [
    {"name": "list_books", "inputSchema": {"type": "object"}, "annotations": {"readOnlyHint": True}},
    BOOK,
    {"name": "remove_book", "inputSchema": {"type": "object"}, "annotations": {"destructiveHint": True}},
    {"name": "no_schema"},
]
RESULT: Json = {
    "content": [{"type": "text", "text": "Slow Trains North is on the shelf travel."}],
    "structuredContent": {"id": 7},
}
ADD = Ref("tool", "shop", "add_book")
ASKED: Json = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "description": "As on your card"},
        "copies": {"type": "integer", "minimum": 1, "maximum": 20, "default": 1},
        "wrap": {"type": "boolean", "title": "Wrap it as a present"},
        "token": {"type": "string"},
    },
    "required": ["name"],
}
SAMPLE: dict[str, Json] = {
    "systemPrompt": "You know all books.",
    "messages": [{"role": "user", "content": {"type": "text", "text": "Recommend one for a journey by train."}}],
    "maxTokens": 200,
}
OF_OTHERS = (
    '{"mcpServers":{"loans":{"command":"npx","args":["loans"],"env":{"CARD":"${CARD}"}},"shop":{"command":"x"}}}'
)
CALL = b'{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"add_book","arguments":{"title":"Slow"}}}'
PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg=="


@asynccontextmanager
async def shop(size: tuple[int, int] = USUAL) -> AsyncGenerator[Pilot[Any]]:
    """The app on a studio in which nothing happens, with a tool filled in and called."""
    servers = {name: ServerConfig(name, command="x", enabled=False) for name in ("shop", "sqlite", "staging")}
    servers["search"] = ServerConfig("search", url="https://search.example/mcp", enabled=False)
    config = Config(Settings(secrets="memory", search_semantic=False, editor="sh", browser="sh"), servers)
    paths = Paths(Path("config"), Path("state"), Path("cache"))
    async with Studio.open(config, paths, can_ask=True) as studio:
        for name in servers:
            await studio.manager.settle(name)
        fill(studio)
        async with StudioApp(studio, MainScreen).run_test(size=size) as pilot:
            await pilot.pause()
            await open_book(pilot)
            yield pilot


def fill(studio: Studio) -> None:
    """Give the studio its facts."""
    refused = Unreachable("Connection refused by search.example.")
    for status in (
        Status("shop", "ready", version="2026-07-28"),
        Status("sqlite", "retrying", Unreachable("It ended with exit code 3."), attempt=2),
        Status("search", "failed", refused),
    ):
        studio.manager.supervisor(status.server).status = status
    kinds: dict[EntryKind, list[Any]] = {
        "tool": TOOLS,
        "resource": [{"uri": "shop://readme", "name": "readme"}],
        "prompt": [{"name": "recommend", "arguments": [{"name": "mood"}]}],
    }
    for kind, items in kinds.items():
        studio.catalog.put(Listing("shop", kind, salvage("shop", kind, items), "fresh"))
    old = salvage("sqlite", "tool", [{"name": "query", "inputSchema": {"type": "object"}}], remembered=True)
    studio.catalog.put(Listing("sqlite", "tool", old, "remembered"))
    for number in range(1, 5):
        request = studio.trace.add("shop", "out", "request", CALL % number)
        request.method, request.target, request.id, request.time = "tools/call", "add_book", number, NOW + number
        answer = studio.trace.add("shop", "in", "result", b'{"jsonrpc":"2.0","id":%d,"result":{}}' % number)
        answer.time = NOW + number + 0.018
        answer.method = "tools/call"
        studio.trace.settled(studio.trace.opened(request), answer, "ok")
        for entry in (request, answer):
            studio.trace.columns.time[entry.number - studio.trace.first_number] = entry.time
    last = studio.trace.entry(7)
    assert last is not None
    mortem = Mortem(
        "sqlite", Ending("exit", 3), NOW + 5, NOW - 90, 8,
        flights=(last,), stderr=("database is locked",), frames=(last,),
    )  # fmt: skip
    studio.manager.supervisor("sqlite").mortems.append(mortem)
    for level, text in (("info", "Opened the shelf travel"), ("warning", "The shelf poetry is full")):
        studio.logs.add("shop", {"level": level, "logger": "shelves", "data": text})
    studio.memory.history.put(Past(ADD, {"title": "The Tea Inspector"}, NOW - 90_000, "tui", "ok", 18, 1234))
    studio.memory.history.put(Past(ADD, {"title": "?"}, NOW - 80_000, "tui", "tool error", 7, 90, "No such book"))
    for task in TASKS:
        studio.tasks.put(task)


TASKS = (
    Task(
        "shop", "t-1", "core", "completed", "All shelves are counted", ref=Ref("tool", "shop", "take_stock"),
        started=NOW - 75, followed=False, has_result=True, result=RESULT,
        steps=(
            TaskChange(NOW - 75, "working", "Counting"), TaskChange(NOW - 15, "completed", "All shelves are counted"),
        ),
    ),
    Task("shop", "t-2", "core", "failed", gone="The server forgot it.", started=NOW - 300, followed=False),
)  # fmt: skip


@pytest.fixture(autouse=True)
def fixed(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is always the same moment in Greenwich, and all folders are named from where the studio was started."""
    monkeypatch.setitem(os.environ, "TZ", "UTC")
    time.tzset()
    monkeypatch.setattr(time, "time", lambda: NOW)
    monkeypatch.setenv("HOME", "nobody")
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    monkeypatch.chdir(home)
    (home / "books").mkdir()
    (home / "books" / ".mcp.json").write_text(OF_OTHERS)
    monkeypatch.setattr(Path, "cwd", classmethod(lambda _: Path("books")))


def main_of(pilot: Pilot[Any]) -> MainScreen:
    """The main screen, also under a dialog."""
    main = pilot.app.screen_stack[0]
    assert isinstance(main, MainScreen)
    return main


def book_of(pilot: Pilot[Any]) -> Entry:
    """The tool that is shown."""
    return main_of(pilot).app.studio.catalog.find(ADD)[0]


async def open_book(pilot: Pilot[Any]) -> None:
    """Open a tool, fill its form, and show the result of a call."""
    main, entry = main_of(pilot), book_of(pilot)
    assert main.show_entry(entry.ref)
    await pilot.pause()
    main.call.open(entry)
    await pilot.press(*"Slow Trains North")
    call = Call(entry.ref, "tools/call", {})
    call.outcome = Succeeded(ms=18, size=1234, request_id=17, result=RESULT)
    main.result.show(main.call.draft, call)
    await pilot.pause()


# How to get to each picture

Scene = Callable[[Pilot[Any]], Awaitable[object]]


def sized(columns: int, rows: int) -> Scene:
    """The main screen in another size."""
    return lambda pilot: pilot.resize_terminal(columns, rows)


def at(pane: str, action: str = "", tab: str = "") -> Scene:
    """A pane has the focus, turns to a tab, and does an action."""

    async def scene(pilot: Pilot[Any]) -> None:
        main = main_of(pilot)
        shown = getattr(main, pane)
        main.go_to(shown)
        if shown.tabs is not None and tab:
            shown.tabs.active = tab
        await pilot.pause()
        if action:
            await shown.run_action(action)

    return scene


def does(action: str) -> Scene:
    """The main screen does an action."""
    return lambda pilot: main_of(pilot).run_action(action)


def pushed(dialog: Callable[[Pilot[Any]], Screen[Any]]) -> Scene:
    """A dialog is opened."""

    async def scene(pilot: Pilot[Any]) -> None:
        await pilot.app.push_screen(dialog(pilot))

    return scene


def request(kind: QuestionKind, message: str = "", **more: Any) -> InputRequest:
    """What a server asks during a call. It is of two hours ago, so that its age stands still."""
    return InputRequest(kind, "shop", message, subject="shop.add_book", asked=time.monotonic() - 7200, **more)


def form_request() -> InputRequest:
    return request("elicitation", "For whom is the book?", schema=ASKED)


def page_request() -> InputRequest:
    return request("url", "Pay for the book there.", url="https://pay.example/order/7?book=slow-trains")


def approval() -> InputRequest:
    reasons = ("the server calls it destructive", "risk high")
    return request("approval", arguments={"title": "Slow Trains North"}, reasons=reasons)


async def activity(pilot: Pilot[Any]) -> None:
    """Two requests are pending."""
    main = main_of(pilot)
    studio = main.app.studio

    async def ask(one: InputRequest) -> None:
        await studio.inbox.ask(one)

    for one in (form_request(), page_request()):
        one.quiet = True
        studio.spawn(ask(one))
        await pilot.pause()
        one.until = 0
    main.action_activity()


async def search(pilot: Pilot[Any]) -> None:
    await main_of(pilot).action_search()
    main_of(pilot).app.studio.index.changed = Signal()  # what is taken up later would have it asked again
    await pilot.pause()
    await pilot.press(*"book")
    box = pilot.app.screen.query_one("#box")
    # Of a part of the word as many are found.
    while "3 of 7" not in str(box.border_subtitle) or any(worker.group == "search" for worker in pilot.app.workers):
        await pilot.pause(0.02)
    box.border_subtitle = ""  # it says how long the search took


async def palette(pilot: Pilot[Any]) -> None:
    await main_of(pilot).action_palette()
    await pilot.pause()
    await pilot.press(*"dracula")
    while not 0 < pilot.app.screen.query_one(CommandList).option_count < 60:  # before, it lists all actions
        await pilot.pause(0.02)
    await pilot.pause(0.2)


async def sessions(pilot: Pilot[Any]) -> None:
    """Two sessions that are on no disk."""
    dialog = Sessions(None)
    await pilot.app.push_screen(dialog)
    await pilot.app.workers.wait_for_complete()
    rows = (
        SessionInfo(Path("state/trace/b.db"), "b", "ended", "tui", "", NOW - 900, NOW - 60, 1, "1", 1, 812, 0, 90_000),
        SessionInfo(Path("state/trace/a.db"), "a", "crashed", "cli", "", NOW - 9000, None, 1, "1", 1, 4, 0, 4_000),
    )
    dialog.rows.show([row._replace(servers=("shop", "sqlite")) for row in rows])


async def token(pilot: Pilot[Any]) -> None:
    """A sign-in that is kept in memory."""
    studio = main_of(pilot).app.studio
    config = studio.manager.config("search")
    client = Client("https://login.example", "studio-7", how="registered")
    grant = Grant(
        config.url, "", client.issuer, client, "opaque", refresh_token="r", scopes=("books:read", "books:write"),
        obtained=NOW - 600, expires=NOW + 3000, audience=config.url,
    )  # fmt: skip
    await studio.sign_ins.accounts.store(config).save(grant, "search")
    await pilot.app.push_screen(TokenView("search"))


def exchanges(_: Pilot[Any]) -> Screen[Any]:
    sent = "GET /.well-known/oauth-protected-resource HTTP/1.1\nhost: search.example"
    came = 'HTTP/1.1 200\ncontent-type: application/json\n\n{"authorization_servers":["https://login.example"]}'
    url = "https://search.example/.well-known/oauth-protected-resource"
    one = AuthExchange(3, "Protected resource", "GET", url, sent, 200, came, 12)
    return Exchanges(AuthStep("resource", "Protected resource", "done", "It names one server.", exchanges=[one]))


def save_call(pilot: Pilot[Any]) -> Screen[Any]:
    main = main_of(pilot)
    assert main.call.draft is not None
    personal, project = (Path(folder, "calls") for folder in ("config", "books/.mcp-studio"))
    return SaveCall(main.call.draft, None, Folders(project, personal, True, TrustStore(Path("state/trusted.json"))))


async def field_menu(pilot: Pilot[Any]) -> None:
    main = main_of(pilot)
    main.go_to(main.call)
    await pilot.pause()
    FieldHelp(main.call.form).open_menu()


def compare(_: Pilot[Any]) -> Screen[Any]:
    sent = b'{"method":"tools/call","params":{"name":"add_book","arguments":{"title":"%s"}}}'
    came = b'{"result":{"content":[],"structuredContent":{"id":%d}}}'
    first = Side("tools/call add_book · 1", sent % b"Slow Trains North", came % 7)
    return Compare(first, Side("tools/call add_book · 2", sent % b"The Tea Inspector", came % 8))


def image(_: Pilot[Any]) -> Screen[Any]:
    block: Json = {"type": "image", "mimeType": "image/png", "data": PIXEL}
    return Picture(blocks_of({"content": [block]})[0])


def trust(_: Pilot[Any]) -> Screen[Any]:
    return ProjectTrust(Untrusted("books/.mcp-studio.toml", "", (ServerConfig("shop", command="shop"),)))


def title_field(pilot: Pilot[Any]) -> Any:
    """The first field of the form."""
    draft = main_of(pilot).call.draft
    assert draft is not None
    return draft.form.fields[0]


PICTURES: dict[str, dict[str, Scene]] = {
    "main": {f"{columns}x{rows}": sized(columns, rows) for columns, rows in
             ((80, 24), (110, 32), (140, 40), (160, 50), (200, 60))},
    "panes": {
        "servers": at("servers"), "catalog": at("catalog"), "call-json": at("call", tab="json"),
        "call-schema": at("call", tab="schema"), "history": at("call", tab="history"),
        "call-about": at("call", tab="about"), "call-form": at("call", tab="form"), "result": at("result"),
        "structured": at("result", tab="structured"), "trace": at("trace"),
        "resources": at("catalog", tab="resource"),
        "tasks": at("catalog", tab="tasks"),
    },
    "everywhere": {
        "search": search, "palette": palette, "help": does("help"), "theme": does("change_theme"), "jump": does("jump"),
        "first-start": pushed(lambda _: FirstStart()), "import": pushed(lambda _: ImportServers()),
        "passphrase": pushed(lambda _: Passphrase("Tokens and secrets will be stored in a file.", new=True)),
        "trust": pushed(trust), "workflow": does("workflows"),
    },
    "servers": {
        "details": at("servers", "open"), "edit": at("servers", "edit"), "add": at("servers", "add"),
        "remove": pushed(lambda _: Confirm("Remove the server?", "shop is closed.", "Remove", destroys=True)),
        "roots": at("servers", "roots"), "console": at("servers", "console"), "logs": at("servers", "server_logs"),
        "unexpected-output": at("servers", "unexpected_output"), "pages": at("catalog", "pages"),
        "sign-in": pushed(lambda pilot: SignInDialog(main_of(pilot).app.studio.manager.config("search"))),
        "token": token, "exchanges": pushed(exchanges), "export-servers": at("servers", "export_servers"),
    },
    "call": {
        "copy-as": at("call", "copy_as"), "paste-call": at("call", "paste_call"), "load-test": at("call", "load_test"),
        "save-call": pushed(save_call), "field-menu": field_menu, "save-result": at("result", "save"),
        "picture": pushed(image), "task": pushed(lambda _: TaskDialog(TASKS[0])),
        "insert-file": pushed(lambda pilot: InsertFile("title", title_field(pilot), 1000)),
        "paste": pushed(lambda pilot: Paste("Paste into title", title_field(pilot), "Slow Trains")),
        "query": at("result", "query"),
    },
    "trace": {
        "statistics": at("trace", "details"), "exchange": at("trace", "open"), "comment": at("trace", "edit"),
        "resend": at("trace", "resend_now"), "export": at("trace", "save"), "compare": pushed(compare),
        "exit-report": pushed(lambda _: ExitReport("sqlite")), "sessions": sessions,
        "breakpoints": at("trace", "breakpoints"),
    },
    "requests": {
        "elicitation": pushed(lambda _: Elicitation(form_request())),
        "elicitation-url": pushed(lambda _: UrlElicitation(page_request())),
        "sampling": pushed(lambda _: Sampling(request("sampling", params=SAMPLE))),
        "approval": pushed(lambda _: Approval(approval(), lambda: None)),
        "answer-rule": pushed(lambda _: AnswerRuleDialog(form_request(), Answer("accept", {"name": "Ada"}))),
        "activity": activity,
    },
}  # fmt: skip


LATE = {"160x50": "jsonrpc", "200x60": "jsonrpc"}
"""What comes a moment after all else: the message beside the trace."""


async def picture(pilot: Pilot[Any], scene: Scene, words: str) -> str:
    """Play a scene, draw it once nothing changes and it shows some words, and leave its dialogs."""
    await scene(pilot)
    await pilot.pause()
    for worker in tuple(pilot.app.workers):
        if not isinstance(worker.node, DirectoryTree):  # which reads as long as it lives
            await worker.wait()
    for kind in (Input, TextArea):
        for field in pilot.app.screen.query(kind):
            field.cursor_blink = False
    before, drawn = "", pilot.app.export_screenshot(simplify=True)
    while before != drawn or words not in drawn:
        await pilot.pause(0.02)
        before, drawn = drawn, pilot.app.export_screenshot(simplify=True)
    while len(pilot.app.screen_stack) > 1:
        await pilot.app.pop_screen()
    return drawn


@pytest.mark.parametrize("group", PICTURES)
async def test_pictures(group: str, snapshot: SnapshotAssertion) -> None:
    differing: list[str] = []
    async with shop() as pilot:
        for name, scene in PICTURES[group].items():
            drawn = await picture(pilot, scene, LATE.get(name, ""))
            if drawn != snapshot(name=name, extension_class=SVGImageExtension):
                differing.append(name)
    assert not differing
