"""The draft of a call: an entry of the catalog, its form, and the value that the form edits."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from mcp_studio.call.call import Call
from mcp_studio.call.secrets import may_hold_secrets, secret_places
from mcp_studio.catalog.listing import Change, Entry
from mcp_studio.jsontext import Json, mapping
from mcp_studio.present import connections, units
from mcp_studio.protocol.tasks import Support, support_of
from mcp_studio.protocol.views import PromptView, ResourceView, TemplateView, ToolView
from mcp_studio.record import record
from mcp_studio.safetext import safe
from mcp_studio.schema.check import quick
from mcp_studio.schema.field import Form, SchemaProblem, Text, defaults
from mcp_studio.schema.form import build, prompt_fields, template_fields
from mcp_studio.schema.text import to_text
from mcp_studio.schema.uritemplate import TemplateError, expand

if TYPE_CHECKING:
    from mcp_studio.call.copying.subject import Subject
    from mcp_studio.studio import Studio

_DESCRIPTION = 700


@record()
class CallDraft:
    """An entry and the arguments for it. `value` is the truth; form and JSON editor are views on it."""

    entry: Entry
    form: Form
    value: Json
    texts: dict[str, Json]
    """Typed text by JSON pointer that is no JSON, so that the value cannot hold it."""
    change: Change | None = None
    """How the entry changed since the person last looked at it."""
    mirrors: bool = False
    """Whether this connection sends marked arguments as HTTP headers, too."""
    support: Support = ""
    """Whether the entry can be called as a task."""
    as_task: bool = False
    """Whether to call the entry as a task, if the server leaves that to us."""
    hides: bool | None = None
    """Whether the value may contain secrets; None until that is known."""

    @property
    def key(self) -> str:
        """The key under which the draft is saved."""
        ref = self.entry.ref
        return f"{ref.kind}:{ref.server}:{ref.name}"

    @property
    def verb(self) -> str:
        """The verb for calling the entry."""
        return {"tool": "call", "resource": "read", "template": "read", "prompt": "get"}[self.entry.ref.kind]

    @property
    def secrets(self) -> frozenset[str]:
        """The JSON pointers of the values that are shown to nobody and written nowhere."""
        if self.hides is None:
            self.hides = may_hold_secrets(self.form)
        return secret_places(self.form, self.value) if self.hides else frozenset()

    @property
    def sent(self) -> Json:
        """The value as the history stores it; None for a resource."""
        return None if isinstance(self.entry.view, ResourceView) else self.value

    def look(self, studio: Studio) -> None:
        """Note that the person sees the entry in its present form, so that it is no longer marked as changed."""
        ref, manager = self.entry.ref, studio.manager
        if ref.server in manager.names():
            self.mirrors = manager.status(ref.server).modern and manager.config(ref.server).kind == "http"
            manager.refresher.look(ref.server, ref.kind)
        if self.entry.change is not None:
            studio.catalog.acknowledge(ref)

    def negotiate(self, studio: Studio, *, wants_task: bool) -> None:
        """Ask the connection whether the entry can be called as a task."""
        name, view = self.entry.ref.server, self.entry.view
        status = studio.manager.status(name) if name in studio.manager.names() else None
        if status is not None and status.version and isinstance(view, ToolView):
            self.support = support_of(view.raw, status.version, status.capabilities)
            self.as_task = self.support == "required" or wants_task

    def problems(self) -> tuple[SchemaProblem, ...]:
        """Every problem that the fields alone can find."""
        found = quick(self.form, self.value)
        if self.entry.ref.kind == "template" and not found:
            try:
                self.uri()
            except TemplateError as problem:
                return (SchemaProblem("", f"The URI cannot be made: {problem}."),)
        return found

    async def check(self, studio: Studio) -> tuple[SchemaProblem, ...]:
        """The problems that the fields find, and those that only the whole schema can find."""
        if isinstance(self.entry.view, ToolView) and isinstance(self.value, dict):
            return await studio.checker.check_arguments(self.form, mapping(self.value))
        return self.problems()

    def notices(self, studio: Studio, *, listed: bool) -> list[str]:
        """Sentences on what prevents a call of the entry, or on what the person should know about it."""
        entry, manager, lines = self.entry, studio.manager, list[str]()
        if entry.ref.server not in manager.names():
            lines.append("Its server is not configured any more.")
        elif (status := manager.status(entry.ref.server)).state != "ready":
            lines.append(connections.state_words(status))
        elif not listed:
            lines.append("The server does not list it any more.")
        elif entry.remembered:
            lines.append("It is remembered from an earlier run; the server has not confirmed it yet.")
        if self.change is not None:
            parts = f": {', '.join(self.change.parts)} (the tab About shows how)" if self.change.parts else ""
            lines.append(f"{self.change.kind.capitalize()} since you last looked{parts}.")
        if entry.problem:
            lines.append(f"Malformed: {entry.problem}")
        return [*lines, *self.form.problems[:3]]

    async def subject(self, studio: Studio, call: Call | None) -> Subject:
        """The subject of copies of this call, with the outcome of `call` if that was made with the present value.

        Raises:
            TemplateError: the template cannot be expanded.
        """
        from mcp_studio.call.copying.subject import subject_of, with_outcome

        ref = self.entry.ref
        uri = self.uri() if ref.kind in ("resource", "template") else ""
        value: Json = dict(self.strings()) if ref.kind == "prompt" else self.value
        subject = subject_of(studio.manager, studio.catalog, ref, value, uri=uri, task=self.as_task)
        wanted = {key: part for key, part in subject.params.items() if key != "task"}
        if call is None or any((call.params.get(key) or {}) != part for key, part in wanted.items()):
            return subject
        return await with_outcome(subject, studio.trace, call.number)

    def uri(self) -> str:
        """The URI of a resource, or of a template filled with the value.

        Raises:
            TemplateError: the template cannot be expanded.
        """
        if isinstance(self.entry.view, TemplateView):
            return expand(self.entry.view.uri_template, mapping(self.value))
        return self.entry.ref.name

    def strings(self) -> dict[str, str]:
        """The value as prompt arguments, all of them strings (server/prompts)."""
        fields = {field.name: field for field in self.form.fields}
        return {key: to_text(fields.get(key) or Text(key), item) for key, item in mapping(self.value).items()}

    async def complete(self, studio: Studio, argument: str, text: str) -> tuple[Sequence[str], str]:
        """Completions of an argument that begins with `text`, given the others; and `20 of 120` if there are more.

        Raises:
            StudioError: the server offers no completions.
        """
        known = {name: value for name, value in self.strings().items() if name != argument and value}
        found = await studio.caller.complete(self.entry.ref, argument, text, known)
        return found.values, found.count

    def switch_subscription(self, studio: Studio) -> str:
        """Subscribe to the resource, or unsubscribe; returns a sentence on the result."""
        ref = self.entry.ref
        if ref.kind not in ("resource", "template"):
            return "Only resources can be subscribed to."
        if problems := self.problems():
            return f"Its URI is not complete: {problems[0].message}"
        uri, template = self.uri(), ref.name if ref.kind == "template" else ""
        on = studio.subscriptions.switch(ref.server, uri, template=template)
        return f"{'Subscribing to' if on else 'Unsubscribed from'} {safe(uri, 200)}."

    def begin(self, studio: Studio, *, fresh: bool = False, approved: bool = False) -> Call:
        """Start a call of the draft; the draft remembers nothing of it."""
        ref = self.entry.ref
        match ref.kind:
            case "tool":
                task = self.as_task
                return studio.call_tool(ref, mapping(self.value), approved=approved, wants_task=task, parts=True)
            case "prompt":
                return studio.get_prompt(ref, self.strings(), parts=True)
            case _:
                return studio.read_resource(ref.server, self.uri(), fresh=fresh, parts=True)

    def description(self, room: int = _DESCRIPTION) -> list[str | tuple[str, str]]:
        view, ref = self.entry.view, self.entry.ref
        parts: list[str | tuple[str, str]] = []
        if view.title and view.title != ref.name and not isinstance(view, ResourceView):
            parts += [(safe(view.title, 200), "bold"), "\n"]
        text = units.unwrapped(safe(view.description.strip(), room, lines=True))
        parts.append(text or ("No description.", "$quiet"))
        if ref.kind in ("resource", "template"):
            parts += ["\n", (safe(ref.name, 500), "$primary")]
        if isinstance(view, ResourceView):
            size = "" if view.size is None else units.size(view.size)
            parts.append(("  " + " · ".join(filter(None, (safe(view.mime_type, 100), size))), "$quiet"))
        return parts


def draft_of(entry: Entry) -> CallDraft:
    """A draft with the default values of an entry's schema."""
    form = form_of(entry)
    return CallDraft(entry, form, defaults(form), {}, entry.change)


def form_of(entry: Entry) -> Form:
    """The form of an entry; empty for a resource."""
    match entry.view:
        case ToolView() as tool:
            return build(tool.input_schema)
        case TemplateView() as template:
            return template_fields(template.uri_template)
        case PromptView() as prompt:
            return prompt_fields(prompt.raw.get("arguments"))
        case _:
            return Form()
