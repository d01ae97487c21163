"""`--example` makes up the arguments that are not given."""

from __future__ import annotations

import json

from mcp_studio.cli.options import candidates
from mcp_studio.schema.examples import KINDS
from tests.cli.kit import raw


def test_arguments_that_are_not_given_are_made_up() -> None:
    done = raw("call", "add", "a=5", "--example", "typical", "--as", "json")
    assert json.loads(done.out).keys() == {"a", "b"} and json.loads(done.out)["a"] == 5
    assert "Example (typical): typical values." in done.err
    assert raw("call", "add", "a=5", "b=6", "--example", "full").out == "11\n"
    other = raw("call", "add", "--example", "typical", "--seed", "1", "--as", "json")
    assert json.loads(other.out) != json.loads(raw("call", "add", "--example", "typical", "--as", "json").out)


def test_what_makes_no_sense_is_told() -> None:
    wild = raw("call", "add", "--example", "typcal")
    assert wild.code == 2 and "choose from 'minimal', 'typical', 'full'" in wild.err
    assert "no whole number" in raw("call", "add", "--example", "full", "--seed", "x").err
    assert "--seed needs --example" in raw("call", "add", "--seed", "1").err


def test_shells_complete_every_kind() -> None:
    assert candidates(["call", "x", "--example", ""], list) == list(KINDS)
