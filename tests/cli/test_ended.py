"""How a server ended, as the command line tells it."""

from __future__ import annotations

from tests.cli.kit import faulty


def test_a_call_whose_server_died_says_what_was_in_flight() -> None:
    done = faulty("killed-mid-call", "call", "echo", "text=hi", "--json")
    assert done.code == 4
    ending = done.json["error"]["ending"]
    assert (ending["how"], ending["code"], ending["inFlight"][0]["target"]) == ("signal", 9, "echo")
    lines = done.err.splitlines()
    assert "SIGKILL" in lines[0] and "in flight  tools/call echo, for" in done.err


def test_doctor_says_how_a_server_ended_and_explains_what_it_printed() -> None:
    done = faulty("dies-at-start", "doctor")
    assert "in flight    initialize, for" in done.out and "ran          for" in done.out
    told = faulty("stray", "doctor").out
    assert "stdout       2 times greeting" in told and "print(…, file=sys.stderr)" in told
