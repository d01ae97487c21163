"""A server wants a model to answer: the person reads what it would be sent, and writes or edits the reply."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, cast

from textual.containers import Vertical
from textual.content import Content
from textual.widget import Widget
from textual.widgets import Static

from mcp_studio.jsontext import Json
from mcp_studio.safetext import safe
from mcp_studio.schema.form import build
from mcp_studio.session.inbox import Answer, InputRequest
from mcp_studio.tui import sampling_reply, sampling_text
from mcp_studio.tui.form.block_editors import BlockEditor, TextBlock, ToolBlock
from mcp_studio.tui.form.form_view import FormView
from mcp_studio.tui.form.json_editor import JsonEditor
from mcp_studio.tui.screens.asked import AskedDialog
from mcp_studio.tui.screens.dialog import Box

if TYPE_CHECKING:
    from mcp_studio.tui.screens.asking import Asking

_LISTS_SINCE = "2025-11-25"


class Sampling(AskedDialog, scope="sampling"):
    """Answers the `CreateMessageResult`; decline and cancel both become the refusal (client/sampling)."""

    wants = "wants a reply of a model"

    def __init__(self, request: InputRequest, asking: Asking) -> None:
        super().__init__(request, asking)
        self._tools = sampling_text.offered(request.params)
        draft = cast("dict[str, Json]", request.draft) if isinstance(request.draft, dict) else {}
        self._reply: Json = draft.get("reply") or sampling_reply.start()
        self._as_json = draft.get("json") is True
        known = cast("dict[str, Json]", self._reply) if isinstance(self._reply, dict) else {}
        value: Json = {key: known[key] for key in ("role", "model", "stopReason") if key in known}
        self._head = FormView(build(sampling_reply.head_schema()), value, id="reply-head")
        self._blocks = Vertical(*self._editors(), classes="blocks")
        self._json = JsonEditor(self._reply, text=str(draft.get("text", "")))
        self._hint = Static(classes="quiet")

    def body(self) -> Iterable[Widget]:
        """What would be sent to a model, above the reply."""
        yield from self.above()
        shown = Box(Static(Content.assemble(*sampling_text.parts_of(self.request.params))), classes="asked")
        shown.can_focus = True
        yield shown
        yield self._hint
        yield Vertical(self._head, self._blocks, self._json, classes="reply")
        yield self.note

    def on_mount(self) -> None:
        """The reply is there to be written."""
        super().on_mount()
        self.query_one("#box").add_class("-tall", "-wide")
        self._show_mode()
        self._start()

    def _start(self) -> None:
        if self._as_json:
            self._json.focus_problem()
        else:
            self.query(BlockEditor).last().start()

    def _editors(self) -> list[BlockEditor]:
        if self._as_json:
            return []
        blocks = cast("list[dict[str, Json]]", sampling_reply.blocks_of(self._reply))
        # As JSON a reply may have no block; its fields begin with an empty text, as those of a new one do.
        return [self._editor(block) for block in blocks or [{}]]

    def _editor(self, block: dict[str, Json]) -> BlockEditor:
        if block.get("type") == "tool_use":
            return ToolBlock(lambda name: sampling_reply.tool_form(self._tools, name), block)
        return TextBlock(str(block.get("text", "")))

    def _show_mode(self) -> None:
        self._head.display = self._blocks.display = not self._as_json
        self._json.display = self._as_json
        keys = {key: self.studio_app.spell(f"sampling-{key}") for key in ("text", "tool", "remove", "json")}
        words = f"Your reply · {keys['text']} adds text"
        if self._tools:
            words += f" · {keys['tool']} uses a tool"
        if self._as_json:
            words = f"Your reply as JSON · {keys['json']} goes back to the fields"
        elif len(self.query(BlockEditor)) > 1:
            words += f" · {keys['remove']} removes a block"
        self._hint.update(Content(words))

    # What is typed

    def on_text_area_changed(self) -> None:
        """Text of a block."""
        self._collect()

    def on_form_view_changed(self, event: FormView.Changed) -> None:
        """Role, model, stop reason, or the use of a tool."""
        event.stop()
        self._collect()

    def on_json_editor_changed(self, event: JsonEditor.Changed) -> None:
        """The reply as JSON."""
        event.stop()
        self._reply = event.value
        self._keep()

    def on_json_editor_unread(self, event: JsonEditor.Unread) -> None:
        """What stands there is no JSON yet."""
        event.stop()
        self._keep(event.text)

    def _collect(self) -> None:
        if not self._as_json and self.is_mounted:
            blocks = [editor.block for editor in self.query(BlockEditor)]
            self._reply = sampling_reply.assembled(self._head.value, blocks)
            self._keep()

    def _keep(self, text: str = "") -> None:
        self.request.draft = {"reply": self._reply, "json": self._as_json, "text": text}
        self.say("")

    # Blocks

    def action_add_text(self) -> None:
        """Add a block of text."""
        self._add({"type": "text", "text": ""})

    def action_add_tool(self) -> None:
        """Add a block that uses a tool."""
        if not self._tools:
            self.say("The server has offered no tools, so the reply can use none.")
        else:
            number = 1 + sum(isinstance(editor, ToolBlock) for editor in self.query(BlockEditor))
            self._add({"type": "tool_use", "name": next(iter(self._tools)), "input": {}, "id": f"call_{number}"})

    def _add(self, block: dict[str, Json]) -> None:
        if self._as_json:
            self.say("In JSON, blocks are written by hand.")
        else:
            self.run_worker(self._mount(block), exclusive=True)

    async def _mount(self, block: dict[str, Json]) -> None:
        editors = list(self.query(BlockEditor))
        # An empty text in front of the use of a tool would only be in the way.
        if block["type"] == "tool_use" and len(editors) == 1 and editors[0].block == {"type": "text", "text": ""}:
            await editors[0].remove()
        editor = self._editor(block)
        await self._blocks.mount(editor)
        self._changed_blocks()
        editor.start()
        editor.scroll_visible(animate=False)

    def action_remove_block(self) -> None:
        """Take the block with the cursor out."""
        editors = list(self.query(BlockEditor))
        current = next((editor for editor in editors if editor.has_focus_within), None)
        if current is None or len(editors) < 2:
            self.say("The cursor is in no block." if current is None else "A reply has one block at least.")
        else:
            self.run_worker(self._remove(current), exclusive=True)

    async def _remove(self, editor: BlockEditor) -> None:
        await editor.remove()
        self._changed_blocks()
        self.query(BlockEditor).last().start()

    def _changed_blocks(self) -> None:
        head = cast("dict[str, Json]", self._head.value)
        uses = any(isinstance(editor, ToolBlock) for editor in self.query(BlockEditor))
        self._head.set_value({**head, "stopReason": sampling_reply.following_stop(head.get("stopReason"), uses)})
        self._collect()
        self._show_mode()

    def action_turn(self) -> None:
        """From the fields to JSON, and back."""
        if self._as_json and self._json.unreadable:
            self.say("This is no JSON yet.")
        elif self._as_json and not sampling_reply.editable(self._reply):
            self.say("The reply has parts that only JSON can show.")
        else:
            self.run_worker(self._turn(), exclusive=True)

    async def _turn(self) -> None:
        self._as_json = not self._as_json
        await self._blocks.remove_children()
        if self._as_json:
            self._json.show(self._reply, fresh=True)
        else:
            known = cast("dict[str, Json]", self._reply)
            self._head.set_value({key: known[key] for key in ("role", "model", "stopReason") if key in known})
            await self._blocks.mount(*self._editors())
        self._keep()
        self._show_mode()
        self._start()

    # Answering

    def action_accept(self) -> None:
        """Send the reply, once it is one."""
        problem = self._problem()
        if problem:
            self.say(f"Not sent: {safe(problem, 300)}")
        else:
            self.dismiss(Answer("accept", self._reply))

    def _problem(self) -> str:
        if self._as_json and self._json.unreadable:
            return self._json.unreadable[0].message
        if not self._as_json:
            for editor in self.query(BlockEditor):
                if unreadable := editor.unreadable:
                    return unreadable
        found = sampling_reply.problem_of(self._reply, self._tools)
        status = self.asking.studio.manager.status(self.request.server)
        content = cast("dict[str, Json]", self._reply).get("content") if isinstance(self._reply, dict) else None
        if not found and isinstance(content, list) and status.version and status.version < _LISTS_SINCE:
            return f"Several blocks came with {_LISTS_SINCE}; this server speaks {status.version}."
        return found
