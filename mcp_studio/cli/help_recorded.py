"""Help of the verbs that are about recordings."""

from __future__ import annotations


def usage(targets: str, options: str, codes: str, answers: str) -> dict[str, str]:
    """Verb -> its help; the arguments are paragraphs that verbs have in common."""
    return {
        "replay": f"""\
mcp-studio replay SESSION|FILE [QUERY] [options] [-- COMMAND ARGS…]

Sends what was recorded once more, in its order, and compares the answers: tool calls, reads, prompts, completions and
lists, each conversation as a whole; what the server asks meanwhile is answered as it was then. SESSION is the beginning
of a session's name (`mcp-studio trace` lists them), FILE a bundle or JSONL file; QUERY chooses requests, such as
`tool:search status:ok`. Each server's requests go to the configured one of that name, or all to the one that is given.

  --ignore PATTERN     what may differ: created_at, content[*].text, $.items[0].id (may be repeated); times, UUIDs,
                       durations and `_meta` are ignored anyway
  --strict             nothing is ignored but what --ignore says
  --set FIELD=VALUE    a secret that the recording does not have, such as password=${{ENV}} (may be repeated)
  --paced              wait between requests as long as it was then
  --yes, -y            approve what would be asked about
{answers}
{targets}
{options}
Exit codes: 0 all the same, 1 something differs, failed or could not be sent; 2 to 130 as everywhere.
""",
        "mock": f"""\
mcp-studio mock SESSION|FILE [--server NAME] [options]

A server that answers as the recorded one did: on standard input and output, or over HTTP on loopback. Requests are
found by what they ask for; asked again and again, it gives its recorded answers one after the other, the last for
ever. What was never asked is refused, naming the nearest request that was. In a configuration it is the command
`mcp-studio mock FILE`.

  --server NAME        which server, where the recording has several
  --http [PORT]        Streamable HTTP on 127.0.0.1; the first line on standard output is the URL
  --latency HOW        recorded (as long as it took then), none, or milliseconds for each answer; none without it
  --quiet, -q          say nothing on standard error

{codes}""",
    }
