"""The forms in which a call can be copied."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple, cast

from mcp_studio.call.copying import command, curl, python
from mcp_studio.call.copying.address import Address, address_of
from mcp_studio.call.copying.answers import answers_of
from mcp_studio.call.copying.hiding import places_of, without_secrets
from mcp_studio.call.copying.subject import Subject
from mcp_studio.jsontext import Json, dumps, loads, printable
from mcp_studio.redact import MARK
from mcp_studio.safetext import escape_live


class Format(NamedTuple):
    """One form."""

    id: str
    """Its name on the command line."""
    title: str


FORMATS = (
    Format("command", "mcp-studio command line"),
    Format("standalone", "mcp-studio command line with the server in it"),
    Format("python", "Python program with the MCP SDK"),
    Format("pytest", "pytest test with the MCP SDK"),
    Format("curl", "curl"),
    Format("json-rpc", "JSON-RPC request"),
    Format("json", "Arguments as JSON"),
    Format("literal", "Arguments as a Python literal"),
)
IDS = tuple(form.id for form in FORMATS)


class Copy(NamedTuple):
    """A call in one form."""

    id: str
    text: str = ""
    remarks: tuple[str, ...] = ()
    """What is good to know about the text, in sentences."""
    why_not: str = ""
    """Why there is no such text, in a sentence; empty where there is one."""


class _Made(NamedTuple):
    text: str
    remarks: tuple[str, ...] = ()


class _No(Exception):
    """There is no such form; the message says why."""


def copy_as(subject: Subject, form: str, *, secrets: bool = False) -> Copy:
    """A call in the form of this id; never raises for what a call or a server may hold.

    Args:
        secrets: write the values of secret arguments too. Secrets of the server's own entry are never written: they
            are references to environment variables.

    Raises:
        KeyError: there is no form of this id.
    """
    make = _MAKERS[form]
    subject, hidden, found = _shown(subject, secrets)
    try:
        made = make(subject, subject.value)
    except _No as reason:
        return Copy(form, why_not=str(reason))
    remarks = [*made.remarks]
    if hidden:
        remarks.append(_hidden(hidden))
    elif found and secrets:
        remarks.append(f"It has secrets in it: {_places(found)}.")
    text = python.commented(made.text, tuple(remarks)) if form in ("python", "pytest") else made.text
    return Copy(form, text, tuple(remarks))


def _shown(subject: Subject, secrets: bool) -> tuple[Subject, tuple[str, ...], tuple[str, ...]]:
    """The call as it may be written, what of it is hidden, and what of it is secret."""
    known = subject.server.secrets if subject.server else ()
    shown = without_secrets(subject.value, subject.hidden | places_of(subject.tool, subject.value), known)
    subject, unknown = _answers(subject, known, secrets)
    if without_secrets(python.compared(subject)[1], (), known).hidden:
        subject = replace(subject, outcome={}, notes=(*subject.notes, "What came of it has secrets in it."))
    if secrets:
        return subject, unknown, shown.hidden
    uri, hidden = subject.uri, (*shown.hidden, *unknown)
    if uri and (MARK in uri or any(secret in uri for secret in known if secret)):
        for secret in known:
            uri = uri.replace(secret, MARK) if secret else uri
        hidden = (*hidden, "/uri")
    return replace(subject, value=shown.value, uri=uri), hidden, shown.hidden


def _answers(subject: Subject, known: tuple[str, ...], secrets: bool) -> tuple[Subject, tuple[str, ...]]:
    """The call with answers as they may be written, and what of them is hidden; recordings have no secrets anyway."""
    hidden: list[str] = []

    def shown(value: Json) -> Json:
        made = without_secrets(value, (), known)
        hidden.extend(f"an answer's {place.rpartition('/')[2]}" for place in made.hidden)
        return made.value

    given = tuple(one._replace(result=shown(one.result)) if one.secret or not secrets else one for one in subject.given)
    rules = tuple(one if secrets else one._replace(content=shown(one.content)) for one in subject.rules)
    return replace(subject, given=given, rules=rules), tuple(hidden)


def _hidden(places: tuple[str, ...]) -> str:
    return f"{MARK} stands for what is secret: {_places(places)}."


def _places(places: tuple[str, ...]) -> str:
    named = ", ".join(place.lstrip("/")[:60] or "the value" for place in places[:5])
    return f"{named} and {len(places) - 5} more" if len(places) > 5 else named


# ---------------------------------------------------------------------- the forms


def _command(subject: Subject, value: Json) -> _Made:
    if subject.server is not None and subject.server.source.origin == "argument":
        return _standalone(subject, value)  # no file knows it
    _only_objects(subject, value)
    return _Made(command.line(subject, value))


def _standalone(subject: Subject, value: Json) -> _Made:
    _only_objects(subject, value)
    address = _address(subject)
    notes = address.remarks
    if address.kind == "stdio" and address.variables:
        notes = (*notes, "The environment is set by `env`: others on this computer can see that line while it runs.")
    if address.kind != "stdio":
        # Options that replace references ask the keyring themselves.
        notes = tuple(note for note in notes if "the keyring" not in note)
    return _Made(command.line(subject, value, address), notes)


def _python(subject: Subject, value: Json) -> _Made:
    return _with_sdk(subject, value, python.program)


def _pytest(subject: Subject, value: Json) -> _Made:
    made = _with_sdk(subject, value, python.test)
    if not (why := python.compared(subject)[2]):
        return made
    return _Made(made.text, (*made.remarks, f"It only looks whether the call succeeds: {why}."))


def _with_sdk(subject: Subject, value: Json, make: Callable[[Subject, Address, Json, python.Answers], str]) -> _Made:
    address = _address(subject)
    if address.kind == "websocket":
        raise _No("The MCP SDK has no client for WebSockets.")
    _only_objects(subject, value)
    if problem := python.unsaid(value):
        raise _No(problem)
    answers = answers_of(subject)
    notes = [*address.remarks, *subject.notes, *answers.remarks]
    if subject.task:
        notes.append("The SDK makes the call without a task.")
    return _Made(make(subject, address, value, answers), tuple(notes))


def _curl(subject: Subject, value: Json) -> _Made:
    address = _address(subject)
    if reason := curl.why_not(address):
        raise _No(reason)
    notes = [*address.remarks]
    if not subject.sure:
        notes.append(f"The server is not connected: that it speaks {subject.supposed} is only likely.")
    make = curl.modern if subject.modern else curl.legacy
    return _Made(make(subject, address, value), tuple(notes))


def _json_rpc(subject: Subject, value: Json) -> _Made:
    notes = ["The studio adds a progress token of its own and another id."]
    if not subject.sure:
        notes.append(f"The server is not connected: that it speaks {subject.supposed} is only likely.")
    return _Made(printable(loads(subject.out(value).frame, exact=True)), tuple(notes))


def _json(subject: Subject, value: Json) -> _Made:
    if subject.ref.kind == "resource":
        raise _No("A resource takes no arguments.")
    return _Made(printable(_given(value)))


def _literal(subject: Subject, value: Json) -> _Made:
    if subject.ref.kind == "resource":
        raise _No("A resource takes no arguments.")
    if problem := python.unsaid(value):
        raise _No(problem)
    return _Made(python.literal(_given(value)))


def _given(value: Json) -> Json:
    return {} if value is None else value


def _only_objects(subject: Subject, value: Json) -> None:
    if subject.ref.kind in ("tool", "prompt") and not isinstance(_given(value), dict):
        raise _No("Arguments are an object; what stands there is none.")


def _address(subject: Subject) -> Address:
    if subject.server is None:
        raise _No(f"There is no server {escape_live(dumps(subject.ref.server).decode())} in the configuration.")
    return address_of(subject.server, subject.kind)


_MAKERS = cast(
    "dict[str, Callable[[Subject, Json], _Made]]",
    {
        "command": _command, "standalone": _standalone, "python": _python, "pytest": _pytest,
        "curl": _curl, "json-rpc": _json_rpc, "json": _json, "literal": _literal,
    },
)  # fmt: skip
