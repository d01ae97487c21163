"""What is answered without the engine: help and version. Imports next to nothing: it is instant."""

from __future__ import annotations

import sys

from mcp_studio import __version__
from mcp_studio.cli.options import VERBS


def auth_usage(common: str, codes: str) -> dict[str, str]:
    """Verb -> its help."""
    return {
        "auth": f"""\
mcp-studio auth login [SERVER] [options]       sign in to a server, as it asks for it; each step is told as it happens
mcp-studio auth login SERVER --redirect URL    go on with a sign-in that nobody could finish: URL is the address that
                                               the browser ended on
mcp-studio auth status [SERVER…] [options]     who is signed in where, until when; with SERVER all that is known
mcp-studio auth token [SERVER] [options]       print the access token, renewed where it has expired
mcp-studio auth refresh [SERVER]               renew the access token now
mcp-studio auth logout [SERVER]                revoke the tokens where that is offered, and forget them
mcp-studio auth forget [SERVER]                forget the tokens without telling anybody

SERVER is a configured one at a URL; with one such server its name can be left out. Without a browser on this machine
`login` prints the address to open: paste the one that the browser ends on. Where there is no terminal either, it prints
the address on standard output, keeps the sign-in for 15 minutes, and ends with exit code 3.

With login:
  --scope SCOPES       ask for these scopes too (may be repeated)
  --issuer URL         the authorization server to use, where the server names several
  --client-id ID       the client that was registered for you there
  --client-secret -    its secret: read from standard input, or asked for on a terminal; @FILE reads a file
  --register           register another client, where the authorization server does not know ours any more
  --step               stop before each request, and show it
  --no-browser         open no browser
  --redirect URL       the address that the browser ended on; - reads it from standard input, where no history keeps it
  --timeout SECONDS    how long to wait for the browser

With the others:
  --header             with token: print it as a header line
  --claims             with token: print what the token says, decoded, instead of the token
  --client             with forget: also who we are at the authorization server

{common}
{codes}""",
    }


def recorded_usage(common: str, codes: str, answers: str) -> dict[str, str]:
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


METHODS = "auto substring regex bm25 okapi semantic hybrid"
"""The methods of our own; packages may bring more."""


def search_usage(common: str) -> dict[str, str]:
    """Verb -> its help; `common` is a paragraph that verbs have in common."""
    return {
        "search": f"""\
mcp-studio search [QUERY…] [options] [-- COMMAND ARGS…]

Finds tools, resources, templates and prompts of all servers, the best first, and says of each why it was found. Of
servers that cannot be reached it searches what they offered last time. Several words are one query; without any it
lists what was used last and most.

  --method METHOD      auto (names, then words, then meaning), substring (words anywhere, names nearly right), regex,
                       bm25, okapi, semantic, hybrid, or one of a package's; [search] method says which is usual
  --kind KIND          only tool, resource, template or prompt (may be repeated)
  --limit N            so many at most (20)
  --offline            start and ask no server: search what they offered last time

{common}
Exit codes: 0 found, 1 nothing found or failure, 2 usage, a method that is not installed, or a pattern that is none;
3 to 130 as everywhere.
""",
    }


TARGETS = """\
Servers are the configured ones, or:
  --config FILE        those of this file instead: config.toml or any mcp.json (may be repeated)
  --url URL            the server at this URL: http, https, ws or wss
  --transport KIND     how it is spoken to, if not as the URL says: http, sse (HTTP+SSE of 2024-11-05) or websocket
  -- COMMAND ARGS…     the server that this command starts (last on the line)
"""
SPEAKING = """\
  --header 'K: V'      send this header to servers at a URL (may be repeated; ${ENV} is replaced)
  --ca FILE            accept certificates of these authorities too (PEM, or a folder of such)
  --cert FILE          show this client certificate (PEM); --cert-key FILE is its key, if in a file of its own
  --insecure           accept any certificate: whoever is in between can read and change everything
  --era ERA            protocol era: legacy, auto or modern
  --protocol-version V the only protocol version to offer, such as 2025-06-18
  --capabilities JSON  the client capabilities to declare instead of our own; @FILE reads a file
  --client-info JSON   who to be instead of mcp-studio; @FILE reads a file
  --root DIR|URI       answer `roots/list` with this folder or file:// URI, instead of what is configured (may be
                       repeated)
  --traceparent        say in every request which trace it belongs to (W3C Trace Context)
  --timeout SECONDS    give up connecting, and waiting for an answer, after this long
"""
OPTIONS = """\
Every verb with a server takes:
  --server NAME        only this server
  --json               print one JSON object: {"ok", "result" or "error", "server", "ms"}
  --quiet, -q          say nothing on standard error but errors
"""
COMMON = """\
About servers (--config, --url, -- COMMAND, --server, --timeout …), and --json, --quiet: mcp-studio --help connection
"""
CODES = """\
Exit codes: 0 ok, 1 failure, 2 usage or configuration, 3 sign-in needed, 4 unreachable, 5 tool error,
6 input or approval needed, 130 interrupted.
"""
ANSWERS = """\
  --answer FILE        answer what the server asks by the rules in this file: [[answer]] tables in TOML or
                       JSON, or one JSON object that fills in every form (may be repeated)
"""
RESULT = """\
  --output FILE, -o    write the whole result to a new file: text as UTF-8, what is binary byte for byte; a terminal
                       shows 1,000 lines or 256 KB of it
"""
LOGS = """\
  --log-level LEVEL    ask for log messages from this level on, and say them on standard error:
                       debug, info, notice, warning, error, critical, alert or emergency
"""
ARGUMENTS = """\
Arguments are typed by the schema: key=value, or key:=JSON for any JSON value.
  --args JSON          all arguments as one JSON object; @FILE reads a file, - standard input
"""
MEMORY = """\
  --last               with the arguments of the newest call of it; what is given besides goes over them
  --save NAME          save the call under this name first: in the project, where there is one, else with your
                       configuration (project:NAME and personal:NAME say where)
"""
SAVED = """\
  --saved NAME         a saved call, of a tool, prompt or resource (project:NAME and personal:NAME say whose)
  --set KEY=VALUE      with --saved, this argument instead of the saved one (may be repeated)
"""
EXAMPLE = """\
  --example KIND       make up the arguments that are not given: minimal (only what is required), typical or full
  --seed NUMBER        with --example, another one; 0 is the first
"""
REPEATING = """\
  --repeat N           call it N times, and print counts, errors, rates and times instead of the results
  --concurrency C      with --repeat, C of them at once (1); what is asked about is asked once for all of them
"""
COPYING = """\
  --as FORM            print the call instead of making it: command, standalone (the same with the server in it),
                       python, pytest, curl, json-rpc, json or literal; secrets are left out
  --with-secrets       with --as, secret arguments as they are (those of the server's entry never)
  --from FILE          what to call is in this file, - for standard input: arguments as JSON, a JSON-RPC request, a
                       command line of mcp-studio or curl, a tool-use block
"""
_LISTS = "servers|tools|resources|templates|prompts|history|saved"
USAGE = {
    "": f"""\
mcp-studio {__version__} - the terminal studio for MCP servers

  mcp-studio [URL | -- COMMAND ARGS…] [--config FILE]…     open the studio
  mcp-studio demo                                          open it on the bundled demo server
  mcp-studio VERB …

Verbs (mcp-studio VERB --help):
{chr(10).join(f"  {verb:<11}{what}" for verb, what in VERBS.items())}

{TARGETS}
{COMMON}
{CODES}""",
    "connection": f"""\
mcp-studio help connection

{TARGETS}
How a server is reached and spoken to:
{SPEAKING}
Proxies are those of the environment: HTTPS_PROXY, HTTP_PROXY, ALL_PROXY and NO_PROXY.

{OPTIONS}
Options stand behind the verb and before --; what is behind -- is the server's command with its own options.
""",
    "list": f"""\
mcp-studio list [{_LISTS}] [options] [-- COMMAND ARGS…]

Prints what servers offer, a line each; without a kind, everything servers offer. `list servers` connects to nothing,
nor do `list history [SERVER[.NAME]]`, the calls that were made, newest first, and `list saved`, the calls with a name.

  --page [CURSOR]      one page of one list of one server as it comes: the first, or the one that CURSOR names;
                       the cursor of the next page is told (--page=CURSOR where it begins with -)

{COMMON}
{CODES}""",
    "call": f"""\
mcp-studio call SERVER.TOOL [key=value…] [options] [-- COMMAND ARGS…]
mcp-studio call --saved NAME [variable=value…] [options] [-- COMMAND ARGS…]

Calls a tool and prints its result. `SERVER.` can be left out where one server has the tool. The first dot behind a
server's name divides: --server NAME and --tool NAME name them apart, also a tool that the server does not list.

{ARGUMENTS}{RESULT}{MEMORY}{SAVED}{EXAMPLE}{REPEATING}{COPYING}  --yes, -y            approve what would be asked about
  --task               as a task, where the tool leaves that to us (one that must be a task always is)
  --ttl SECONDS        ask the server to keep the task that long
  --detach             do not wait for the task: print its id; `mcp-studio tasks result` fetches what came of it
  --unchecked          send the arguments even if they do not match the schema
{LOGS}{ANSWERS}
{COMMON}
{CODES}""",
    "read": f"""\
mcp-studio read [SERVER] URI [key=value…] [options] [-- COMMAND ARGS…]

Reads a resource, listed or not. A URI template such as `file:///{{path}}` is filled with the values given
(RFC 6570); those of its path are required, those of its query are not. A list is JSON, or its key several times.

  --args JSON          all values as one JSON object; @FILE reads a file, - standard input
{RESULT}  --fresh              ask the server, though it calls an earlier answer fresh still
{MEMORY}{COPYING}{LOGS}{ANSWERS}
{COMMON}
{CODES}""",
    "get": f"""\
mcp-studio get SERVER.PROMPT [key=value…] [options] [-- COMMAND ARGS…]

Gets a prompt and prints its messages. --server NAME and --prompt NAME name them apart.

  --args JSON          all arguments as one JSON object; @FILE reads a file, - standard input
{RESULT}{MEMORY}{EXAMPLE}{COPYING}{LOGS}{ANSWERS}
{COMMON}
{CODES}""",
    "complete": f"""\
mcp-studio complete SERVER.PROMPT ARGUMENT=START [key=value…] [options] [-- COMMAND ARGS…]
mcp-studio complete URI-TEMPLATE VARIABLE=START [key=value…] [options] [-- COMMAND ARGS…]

Prints the values that a server suggests for an argument, a line each; the other pairs are what is known already.
--server NAME and --prompt NAME name server and prompt apart.

{COMMON}
{CODES}""",
    "tasks": f"""\
mcp-studio tasks [list] [SERVER] [options]         tasks that are known: those of earlier calls, and what servers list
mcp-studio tasks get [SERVER] TASK [options]       how a task is
mcp-studio tasks watch [SERVER] TASK [options]     a line for every change, then its result
mcp-studio tasks result [SERVER] TASK [options]    wait for its result, and print it as `call` does
mcp-studio tasks cancel [SERVER] TASK [options]    ask the server to cancel it

With one server, its name can be left out. What a task asks meanwhile is asked on the terminal.

  --answer FILE        answers for what servers ask, as for `call`
{RESULT}
{COMMON}
{CODES}""",
    "skills": f"""\
mcp-studio skills [SERVER] [options]               the skills that servers list; no file of theirs is read for that
mcp-studio skills [SERVER] SKILL [FILE] [options]  read a skill, named by its name or address, or one of its files

With one server, its name can be left out. What is read is compared with what was listed: size, digest, and for
SKILL.md the frontmatter. What differs is not printed: it ends with exit code 1, and says why.

{ANSWERS}
{COMMON}
{CODES}""",
    "watch": f"""\
mcp-studio watch [SERVER] URI… [key=value…] [options] [-- COMMAND ARGS…]
mcp-studio watch [--logs] [SERVER…] [options] [-- COMMAND ARGS…]

Prints a line whenever a server says that its list of tools, resources or prompts has changed, and for every update of
the resources that are named, until Ctrl-C. They are subscribed to again when a server was lost and is back. URI
templates are filled with the values given. With --json every line is an object.

  --read               read the resource after each update, and print its content
  --logs               print the log messages of the servers too
  --log-level LEVEL    which log messages are asked for: this level and worse; debug where it is not given

{COMMON}
{CODES}""",
    "shell": f"""\
mcp-studio shell [SERVER] [options] [-- COMMAND ARGS…]

Keeps one connection for several commands, for servers with state. A line is a verb with its options, without a server:
  list tools · search WORDS · call TOOL key=value… · read URI · get PROMPT key=value… · complete PROMPT ARGUMENT=START ·
  skills · tasks · watch [URI…] · send METHOD · help [VERB] · exit
It is divided into words as a POSIX shell does; one that begins with # is left out. Ctrl-C cancels the command that
runs, the end of input leaves. A server that was lost is started again. An error ends nothing: all lines of a pipe are
done, and the exit code is that of the first command that failed; on a terminal it is 0.

{LOGS}{ANSWERS}
{COMMON}
{CODES}""",
    "send": f"""\
mcp-studio send [SERVER] METHOD [options] [-- COMMAND ARGS…]
mcp-studio send [SERVER] --frame TEXT [options] [-- COMMAND ARGS…]

Sends a message that you write, and prints every message that comes back: until its answer and a moment more, or for 2
seconds where nothing has to be answered.

  --params JSON        the params, any JSON; @FILE reads a file, - standard input
  --id JSON            the id, any JSON: 7, '"x"', null, 1.5; without it, a number that is free
  --meta JSON          members for the `_meta` of the params, over what 2026-07-28 wants there
  --no-stamp           leave out what 2026-07-28 wants in `_meta`
  --notification       without an id
  --frame TEXT         this instead, byte for byte, be it JSON or not; @FILE, - (may be repeated, one after the other)
  --newlines           let newlines inside the frame through, which end it on standard input
  --wait SECONDS       how long to wait for what comes back
  --no-handshake       connect, and send nothing but this: no `initialize`, no `server/discover`

{COMMON}
{CODES}""",
    **recorded_usage(COMMON, CODES, ANSWERS),
    "doctor": f"""\
mcp-studio doctor [SERVER…] [options] [-- COMMAND ARGS…]

Connects to each server, one after the other, and says what was resolved, started, negotiated and listed, how long each
step took, what failed and what to try.

{COMMON}
{CODES}""",
    **search_usage(COMMON),
    **auth_usage(COMMON, CODES),
    "config": f"""\
mcp-studio config [show]                       what is in force, from which files, and what was left out and why
mcp-studio config path                         the file that `add`, `remove` and `set` write
mcp-studio config keys                         all keys of the studio
mcp-studio config add [--name NAME] URL        add a server by its URL, or by its command
mcp-studio config add [--name NAME] -- COMMAND ARGS…
mcp-studio config add -                        add the servers of an mcp.json snippet from standard input
mcp-studio config remove NAME                  remove a server
mcp-studio config set KEY VALUE                set a value, such as `theme nord` or `limits.connect 30`
mcp-studio config trust                        use ./.mcp-studio.toml, after showing what it starts
mcp-studio config import [FILE]                servers of other clients: which files there are; add those of one
mcp-studio config secrets [list]               the secrets that ${{keyring:NAME}} stands for: where they are kept, what
                                               uses them, which are missing; never their values
mcp-studio config secrets set NAME             keep a secret: typed without being shown, or from standard input
mcp-studio config secrets remove NAME          forget it

  --config FILE        the file to show or to write
  --keyring            `add`, `import`: keep secrets that stand in clear in the keyring, and write references to them
  --from-env VARIABLE  `secrets set`: the secret is in this environment variable
  --yes, -y            do not ask
  --json, --quiet      as everywhere

{CODES}""",
    "demo": """\
mcp-studio demo

Opens the studio on the bundled demo server: everything to try, nothing to install. For the other verbs it is
`-- python -m mcp_studio.servers.demo`. Takes --era, --protocol-version, --capabilities, --client-info, --root and
--traceparent as they do: --help connection
""",
    "completion": """\
mcp-studio completion bash|zsh|fish

Prints a completion script. For bash: source <(mcp-studio completion bash)
zsh: mcp-studio completion zsh > "${fpath[1]}/_mcp-studio"
fish: mcp-studio completion fish > ~/.config/fish/completions/mcp-studio.fish
""",
}


def answer(words: list[str]) -> int:
    """Answer `--help`, `help`, `--version`; returns the exit code."""
    if words[:1] in (["--version"], ["-V"]):
        return show(f"mcp-studio {__version__}\n")
    asked = [word for word in words if word not in ("--help", "-h", "help")]
    topics = ["connection"] if "connection" in asked[:2] else asked
    return show(USAGE[next((word for word in topics if word in USAGE), "")])


def show(text: str) -> int:
    """Print a text; returns the exit code."""
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except BrokenPipeError:
        return 0
    except UnicodeEncodeError:
        sys.stdout.buffer.write(text.encode())
    return 0
