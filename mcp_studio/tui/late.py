"""Screens and widgets that are imported when they are first needed: none of them is part of the first paint."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from types import ModuleType

    from textual.filter import LineFilter
    from textual.geometry import Offset
    from textual.screen import ModalScreen
    from textual.widget import Widget

    from mcp_studio.catalog.listing import Entry, EntryKind, Ref
    from mcp_studio.config.model import AnswerRule, ServerConfig, Untrusted
    from mcp_studio.errors import StudioError
    from mcp_studio.jsontext import Json
    from mcp_studio.present.blocks import Block
    from mcp_studio.schema.examples import Example
    from mcp_studio.session.inbox import Answer, InputRequest
    from mcp_studio.studio import Studio
    from mcp_studio.trace.message import WireMessage
    from mcp_studio.tui.actions import Action
    from mcp_studio.tui.app import StudioApp
    from mcp_studio.tui.opened import Opened
    from mcp_studio.tui.panels.call_body import CallBody
    from mcp_studio.tui.screens.asking import Asking
    from mcp_studio.tui.screens.board import Chosen
    from mcp_studio.tui.screens.main import MainScreen
    from mcp_studio.tui.screens.remembering import Remembering
    from mcp_studio.tui.screens.search_acts import Searching
    from mcp_studio.tui.screens.tasking import Tasking
    from mcp_studio.tui.themes import Failed


def palette(keys: Mapping[str, str]) -> ModalScreen[Action]:
    """All commands."""
    from mcp_studio.tui.screens.palette import Palette

    return Palette(keys)


def help_for(pane: str, keys: Mapping[str, str]) -> ModalScreen[None]:
    """Keys and signs of a pane."""
    from mcp_studio.tui.screens.help import Help

    return Help(pane, keys)


def about(studio: Studio) -> ModalScreen[None]:
    """What is running."""
    from mcp_studio.tui.screens.about import About

    return About(studio)


def theme_picker(now: str, names: list[str], failed: tuple[Failed, ...]) -> ModalScreen[str]:
    """Choosing a theme."""
    from mcp_studio.tui.screens.theme_picker import ThemePicker

    return ThemePicker(now, names, failed)


def jump(targets: Iterable[tuple[str, Offset]]) -> ModalScreen[str]:
    """Letters over panes and tabs."""
    from mcp_studio.tui.screens.jump import Jump

    return Jump(targets)


def confirm(heading: str, question: str) -> ModalScreen[bool]:
    """Yes or no."""
    from mcp_studio.tui.screens.confirm import Confirm

    return Confirm(heading, question)


def trust(file: Untrusted) -> ModalScreen[bool]:
    """May a project's file be used?"""
    from mcp_studio.tui.screens.trust import Trust

    return Trust(file)


def server_details(studio: Studio, name: str) -> ModalScreen[None]:
    """Everything about one server."""
    from mcp_studio.tui.screens.server_details import ServerDetails

    return ServerDetails(studio, name)


def server_dialog(studio: Studio, old: ServerConfig | None) -> ModalScreen[ServerConfig]:
    """Adding or editing a server."""
    from mcp_studio.tui.screens.server_dialog import ServerDialog

    return ServerDialog(studio, old, import_dialog)


def import_dialog(studio: Studio) -> ModalScreen[ServerConfig]:
    """Taking over servers of other clients."""
    from mcp_studio.tui.screens.import_dialog import ImportDialog

    return ImportDialog(studio)


def pages(studio: Studio, server: str, kind: EntryKind) -> ModalScreen[None]:
    """One list, page by page."""
    from mcp_studio.tui.screens.pages import Pages

    return Pages(studio, server, kind)


def log_view(studio: Studio, server: str) -> ModalScreen[None]:
    """Log messages of one server, or of all."""
    from mcp_studio.tui.screens.log_view import LogView

    return LogView(studio, server)


def question(request: InputRequest, asking: Asking) -> ModalScreen[Answer]:
    """What a server asks, or whether a call may be run."""
    if request.kind == "approval":
        from mcp_studio.tui.screens.approval import Approval

        return Approval(request)
    if request.kind == "url":
        from mcp_studio.tui.screens.page import Page

        return Page(request, asking)
    if request.kind == "sign_in":
        from mcp_studio.tui import late_auth

        return late_auth.sign_in(asking.signing, request.server, request, asking.signing.running(request.server))
    if request.kind == "sampling":
        from mcp_studio.tui.screens.sampling import Sampling

        return Sampling(request, asking)
    from mcp_studio.tui.screens.question import Question

    return Question(request, asking)


def board(studio: Studio, asking: Asking) -> ModalScreen[Chosen]:
    """What runs, and what waits for the person."""
    from mcp_studio.tui.screens.board import Board

    return Board(studio, asking)


def rule_dialog(studio: Studio, request: InputRequest, answer: Answer) -> ModalScreen[AnswerRule]:
    """Making a rule of an answer."""
    from mcp_studio.tui.screens.rule_dialog import RuleDialog

    return RuleDialog(studio, request, answer)


def roots_dialog(studio: Studio, name: str) -> ModalScreen[None]:
    """The roots of a server."""
    from mcp_studio.tui.screens.roots_dialog import RootsDialog

    return RootsDialog(studio, name)


def save_dialog(ref: Ref, result: Json) -> ModalScreen[None]:
    """Where to save a result."""
    from mcp_studio.tui.screens.save_dialog import SaveDialog

    return SaveDialog(ref, result)


def choose(heading: str, options: Sequence[tuple[str, str]], now: str) -> ModalScreen[str]:
    """One of a few words."""
    from mcp_studio.tui.screens.choose import Choose

    return Choose(heading, options, now)


def picture(block: Block) -> ModalScreen[None]:
    """One picture, large."""
    from mcp_studio.tui.screens.picture import Picture

    return Picture(block)


def saving() -> ModuleType:
    """Writing files of a result."""
    from mcp_studio.tui import saving as files

    return files


def call_body() -> CallBody:
    """The inside of the call pane: forms and editors come with the first entry that is opened."""
    from mcp_studio.tui.panels.call_body import CallBody

    return CallBody()


def open_entry(entry: Entry) -> Opened:
    """An entry with its form."""
    from mcp_studio.tui.opened import open_entry as make

    return make(entry)


def http_card(error: StudioError, *, why: str | None = None) -> list[str | tuple[str, str]]:
    """See `http_card.parts`."""
    from mcp_studio.present.http import parts

    return parts(error, why=why)


def result_views() -> ModuleType:
    """The viewers of a result."""
    from mcp_studio.tui.panels import result_views as views

    return views


def server_files() -> ModuleType:
    """Writing the person's files."""
    from mcp_studio.tui import server_files as files

    return files


def task_dialog(studio: Studio, tasking: Tasking, key: tuple[str, str]) -> ModalScreen[bool]:
    """Everything about one task."""
    from mcp_studio.tui.screens.task_dialog import TaskDialog

    return TaskDialog(studio, tasking, key)


def console(studio: Studio, server: str, text: str = "") -> ModalScreen[None]:
    """Messages written by hand."""
    from mcp_studio.tui.screens.console import Console

    return Console(studio, server, text)


def remembering(screen: MainScreen) -> Remembering:
    """Earlier calls, and saved ones."""
    from mcp_studio.tui.screens.remembering import Remembering

    return Remembering(screen)


def edit_by_hand(app: StudioApp, entry: WireMessage | None) -> None:
    """Open a message of the trace in the console of its server, to be changed and sent again."""
    from mcp_studio.tui import by_hand

    if entry is None or not by_hand.sendable(entry) or entry.server not in app.studio.manager.names():
        app.say("This is no message that could be sent again.", "warning")
    else:
        app.push_screen(console(app.studio, entry.server, by_hand.text_of_entry(entry)))


def searching(screen: MainScreen) -> Searching:
    """Searching everything."""
    from mcp_studio.tui.screens.search_acts import Searching

    return Searching(screen)


def examples(studio: Studio, opened: Opened) -> ModalScreen[Example]:
    """Choosing an example with which a form is filled."""
    from mcp_studio.tui.screens.example_dialog import ExampleDialog

    return ExampleDialog(studio, opened)


def sent(title: str, value: Json, place: str, waiting: int) -> ModalScreen[None]:
    """What will be sent, or is kept; `title` says which."""
    from mcp_studio.tui.screens.sent import Sent

    return Sent(title, value, place, waiting)


def plain_filters(ascii: bool, no_color: bool) -> tuple[LineFilter, ...]:
    """Draw with ASCII only, or without colours."""
    from mcp_studio.tui.plain import NoColours, PlainSigns

    return (PlainSigns(enabled=ascii), NoColours(enabled=no_color))


def markdown() -> Widget:
    """A viewer of rendered Markdown: its parser costs a tenth of the start."""
    from mcp_studio.tui.panels.foreign_markdown import ForeignMarkdown

    return ForeignMarkdown(classes="viewer")
