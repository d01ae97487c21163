"""Help of the verbs that are about recordings."""

from __future__ import annotations


def usage(common: str, codes: str, answers: str) -> dict[str, str]:
    """Verb -> its help; the arguments are paragraphs that verbs have in common."""
    return {"replay": _replay(common, answers), "trace": _trace(codes), "mock": _mock(codes)}


def _replay(common: str, answers: str) -> str:
    return f"""\
mcp-studio replay SESSION|FILE [QUERY] [options] [-- COMMAND ARGS…]

Sends what was recorded once more, in its order, and compares the answers: tool calls, reads, prompts, completions and
lists, each conversation as a whole; what the server asks meanwhile is answered as it was then. SESSION is how a
session's name begins (`mcp-studio trace` lists them), or `last` for the newest; FILE a bundle or JSONL file; QUERY
chooses requests, such as `tool:search status:ok`. Each server's requests go to the configured one of that name, or all
to the one that is given.

  --ignore PATTERN     what may differ: created_at, content[*].text, $.items[0].id (may be repeated); times, UUIDs,
                       durations and `_meta` are ignored anyway
  --strict             nothing is ignored but what --ignore says
  --set FIELD=VALUE    a secret that the recording does not have, such as password=${{ENV}} (may be repeated)
  --paced              wait between requests as long as it was then
  --yes, -y            approve what would be asked about
{answers}
{common}
Exit codes: 0 all the same, 1 something differs, failed or could not be sent; 2 to 130 as everywhere.
"""


def _trace(codes: str) -> str:
    return f"""\
mcp-studio trace [options]                          sessions that were recorded, the newest first
mcp-studio trace SESSION [QUERY…] [options]         what is in one, or what of it QUERY asks for

SESSION is how a session's name begins, `last` for the newest with something in it, `running` for the newest that some
studio is recording now, or a file: a session, a bundle or JSON lines. QUERY is as in the trace of the studio, such as
'server:github status:error >500ms since:10m /time ?out/ not ping'; docs/trace.md has all of it. Nothing is connected
to, and nothing started.

  --limit N            the newest N at most: 1,000 without it, 10 with --follow
  --follow             go on with what comes, until the studio that records it ends, or Ctrl-C
  --jsonl              all of each entry, with its body, as JSON lines; with --follow too
  --stats              counts, errors, durations and bytes for each server, method and tool
  --span N             what belongs to entry N as a tree, with times
  --body N             the body of entry N, byte for byte
  --diff N,M           where the bodies of two entries differ, but for ids and times
  --export FORMAT      as jsonl, bundle, har, otlp or markdown, to standard output or to a new file:
  --output FILE, -o
  --to URL             spans to the OpenTelemetry collector there; --header 'K: V' goes with them (may be repeated)
  --delete             delete the sessions that are named, without asking
  --config FILE        also what is secret there is left out of what goes out (may be repeated)
  --json, --quiet      as everywhere

{codes}"""


def _mock(codes: str) -> str:
    return f"""\
mcp-studio mock SESSION|FILE [--server NAME] [options]

A server that answers as the recorded one did: on standard input and output, or over HTTP on loopback. Requests are
found by what they ask for; asked again and again, it gives its recorded answers one after the other, the last for
ever. What was never asked is refused, naming the nearest request that was. In a configuration it is the command
`mcp-studio mock FILE`. SESSION is how a session's name begins, or `last` for the newest.

  --server NAME        which server, where the recording has several
  --http [PORT]        Streamable HTTP on 127.0.0.1; the first line on standard output is the URL
  --latency HOW        recorded (as long as it took then), none, or milliseconds for each answer; none without it
  --quiet, -q          say nothing on standard error

{codes}"""
