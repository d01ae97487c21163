"""Verbs and options, each declared once: parsing, help, completion and docs/cli.md are made from this table."""

from __future__ import annotations

from itertools import combinations, product
from typing import NamedTuple

from mcp_studio.protocol.versions import LOG_LEVELS, VERSIONS


class Option(NamedTuple):
    """An option. It is a flag where it has no `value`, the name of what it takes."""

    name: str
    help: str
    value: str = ""
    choices: tuple[str, ...] = ()
    short: str = ""
    others: bool = False
    """It takes other values than its choices, too."""
    optional: bool = False
    """The value can be left out."""
    needs: tuple[str, ...] = ()
    """It means something with one of these only."""


TARGET = (
    Option("--config", "the servers of this file: config.toml or any mcp.json (may be repeated)", "FILE"),
    Option("--url", "the server at this URL: http, https, ws or wss", "URL"),
    Option("--transport", "how it is spoken to", "KIND", ("http", "sse", "websocket")),
)
REMOTE = (
    Option("--header", "send this header to servers at a URL (may be repeated; ${ENV} is replaced)", "'K: V'"),
    Option("--ca", "accept certificates of these authorities too (PEM, or a folder of such)", "FILE"),
    Option("--cert", "show this client certificate (PEM)", "FILE"),
    Option("--cert-key", "its key, if in a file of its own", "FILE"),
    Option("--insecure", "accept any certificate: whoever is in between can read and change everything"),
)
BENDING = (
    Option("--era", "protocol era", "ERA", ("legacy", "auto", "modern")),
    Option("--protocol-version", "the only protocol version to offer, such as 2025-06-18", "V", VERSIONS),
    Option("--capabilities", "the client capabilities to declare instead of our own; @FILE reads a file", "JSON"),
    Option("--client-info", "who to be instead of mcp-studio; @FILE reads a file", "JSON"),
    Option("--root", "answer `roots/list` with this folder or file:// URI (may be repeated)", "DIR|URI"),
    Option("--traceparent", "say in every request which trace it belongs to (W3C Trace Context)"),
)
TIMEOUT = Option("--timeout", "give up connecting, and waiting for an answer, after this long", "SECONDS")
SERVER = Option("--server", "only this server (may be repeated where a verb is about several)", "NAME")
JSON = Option("--json", 'print one JSON object: {"ok", "result" or "error", "server", "ms"}')
QUIET = Option("--quiet", "say nothing on standard error but errors", short="-q")
COMMON = (*TARGET, *REMOTE, TIMEOUT, SERVER, JSON, QUIET, *BENDING)


class Verb(NamedTuple):
    """A verb; the empty one is the studio itself."""

    summary: str
    usage: str
    about: str = ""
    options: tuple[Option, ...] = ()
    shared: tuple[Option, ...] = COMMON
    """Options that `--help connection` tells of: those of a verb with servers."""
    words: tuple[str, ...] = ()
    """What its first word can be, for completion."""
    apart: tuple[tuple[str, str], ...] = ()
    """Options that do not go together."""

    def option(self, name: str) -> Option | None:
        """The option of a name, or of its short form."""
        return next((one for one in (*self.options, *self.shared) if name and name in (one.name, one.short)), None)


YES = Option("--yes", "approve what would be asked about", short="-y")
ANSWER = Option("--answer", "answer what servers ask by this file: [[answer]] tables, or a JSON object", "FILE")
OUTPUT = Option("--output", "write the whole result to a new file, what is binary as bytes", "FILE", short="-o")
LOG_LEVEL = Option("--log-level", "ask for log messages from this level on, and say them", "LEVEL", LOG_LEVELS)
ARGS = Option("--args", "all arguments as one JSON object; @FILE reads a file, - standard input", "JSON")
MEMORY = (
    Option("--last", "with the arguments of the newest call of it; what is given besides overrides them"),
    Option("--save", "save the call under this name first; project:NAME and personal:NAME say where", "NAME"),
    Option("--pin", "have `dev` make it again after every change of the server", needs=("--save",)),
)
NO_CACHE = Option("--no-cache", "ask the server for the resource, though an earlier answer is kept still")
EXAMPLE = Option("--example", "make up the arguments that are not given", "KIND", ("minimal", "typical", "full"))
FORMS = ("command", "standalone", "python", "pytest", "curl", "json-rpc", "json")
COPYING = (
    Option("--as", "print the call instead of making it, without secrets", "FORM", FORMS),
    Option("--with-secrets", "secret arguments as they are, but for those of the server's entry", needs=("--as",)),
)
PROMPT = Option("--prompt", "the prompt, apart from its server", "NAME")
SAVED = (
    Option("--saved", "a saved call, of a tool, prompt or resource (project:NAME and personal:NAME say whose)", "NAME"),
    Option("--set", "this argument instead of the saved one (may be repeated)", "KEY=VALUE", needs=("--saved",)),
)
REPEATING = (
    Option("--repeat", "call it N times, and print counts, errors, rates and times instead of the results", "N"),
    Option("--concurrency", "so many of them at once (1)", "N", needs=("--repeat",)),
)
TASK = (
    Option("--task", "as a task, where the tool leaves that to us"),
    Option("--ttl", "ask the server to keep the task that long", "SECONDS"),
    Option("--detach", "do not wait for the task: print its id for `mcp-studio tasks result`"),
)
LIST_KINDS = ("servers", "groups", "tools", "resources", "templates", "prompts", "history", "saved")
METHODS = ("auto", "substring", "regex", "bm25", "okapi", "semantic", "hybrid")
"""The methods of our own; packages may bring more."""
EXPORTS = ("jsonl", "bundle", "otlp", "markdown")
VIEWS = ("--span", "--stats", "--body", "--diff", "--delete")
"""What `trace` does with a session instead of printing a table."""
MODES = ("search", "all")
TASK_ACTIONS = ("list", "get", "result", "cancel", "watch")

VERBS: dict[str, Verb] = {
    "": Verb(
        "the terminal studio for MCP servers",
        "[URL | -- COMMAND ARGS…] [--config FILE]…     open the studio\n"
        "demo                                          open it on the bundled demo server\n"
        "VERB …",
        shared=(*TARGET, *REMOTE, TIMEOUT, *BENDING),
    ),
    "list": Verb(
        "what servers offer: servers, groups, tools, resources, templates, prompts; history, saved",
        f"list [{'|'.join(LIST_KINDS)}] [options] [-- COMMAND ARGS…]",
        "Without a kind it lists everything. servers, groups, saved and history [SERVER[.NAME]] connect to nothing.",
        (
            Option("--page", "one page of one list: the first, or the one that CURSOR names", "CURSOR", optional=True),
            Option("--metrics", "of servers: calls, errors, times, bytes and connections in what was recorded"),
            Option("--limit", "in the newest N sessions (100)", "N", needs=("--metrics",)),
            Option("--prometheus", "as a Prometheus text file", needs=("--metrics",)),
            Option("--to", "send them to the OpenTelemetry collector there", "URL", needs=("--metrics",)),
        ),
        words=LIST_KINDS,
        apart=(("--prometheus", "--to"), ("--page", "--metrics")),
    ),
    "search": Verb(
        "find tools, resources, templates and prompts by name, words, pattern or meaning",
        "search [QUERY…] [options] [-- COMMAND ARGS…]",
        "The best is first. Without a query it lists what was used last. Exit code 1 where nothing is found.",
        (
            Option("--method", "how; [search] method says which is usual", "METHOD", METHODS, others=True),
            Option("--kind", "only these (may be repeated)", "KIND", ("tool", "resource", "template", "prompt")),
            Option("--limit", "so many at most (20)", "N"),
            Option("--offline", "start and ask no server: search what they offered last time"),
        ),
    ),
    "call": Verb(
        "call a tool",
        "call SERVER.TOOL [key=value…] [options] [-- COMMAND ARGS…]\n"
        "call @GROUP.TOOL [key=value…] [--server NAME] [options]\n"
        "call TOOL --on SERVERS [key=value…] [options]\n"
        "call --saved NAME [key=value…] [options] [-- COMMAND ARGS…]",
        "`SERVER.` can be left out where one server has the tool. --server NAME and --tool NAME name a tool that is "
        "not listed. Arguments are typed by the schema: key=value, or key:=JSON for any JSON value.",
        (
            Option("--tool", "the tool, apart from its server", "NAME"),
            *(ARGS, OUTPUT, *MEMORY, *SAVED, EXAMPLE, *REPEATING, *COPYING, YES, *TASK),
            Option("--on", "call it on all of these (A,B,C, @GROUP or all), and compare what comes back", "SERVERS"),
            Option("--failover", "where the answer is lost, another member of the group may take the call"),
            Option("--unchecked", "send the arguments even if they do not match the schema"),
            *(NO_CACHE, LOG_LEVEL, ANSWER),
        ),
        apart=(
            *combinations(("--output", "--repeat", "--detach", "--as"), 2),
            *product(("--saved",), ("--tool", "--args", "--last", "--save", "--example")),
            *product(("--on",), ("--as", "--repeat", "--task", "--detach", "--ttl", "--save", "--saved", "--failover")),
            *product(("--on",), ("--output", "--server")),
        ),
    ),
    "read": Verb(
        "read a resource",
        "read [SERVER] URI [key=value…] [options] [-- COMMAND ARGS…]",
        "A URI template such as `file:///{path}` is filled with the values. A list is key:=JSON.",
        (ARGS, OUTPUT, NO_CACHE, *MEMORY, *COPYING, LOG_LEVEL, ANSWER),
        apart=(("--output", "--as"),),
    ),
    "get": Verb(
        "get a prompt",
        "get SERVER.PROMPT [key=value…] [options] [-- COMMAND ARGS…]",
        options=(PROMPT, ARGS, OUTPUT, *MEMORY, EXAMPLE, *COPYING, LOG_LEVEL, ANSWER),
        apart=(("--output", "--as"),),
    ),
    "complete": Verb(
        "values a server suggests for an argument",
        "complete SERVER.PROMPT ARGUMENT=START [key=value…] [options] [-- COMMAND ARGS…]\n"
        "complete URI-TEMPLATE VARIABLE=START [key=value…] [options] [-- COMMAND ARGS…]",
        "The other pairs are what is known already.",
        (PROMPT,),
    ),
    "skills": Verb(
        "skills of servers: list them; read one, and say whether it is what was listed",
        "skills [SERVER] [options]\nskills [SERVER] SKILL [FILE] [options]",
        "SKILL is a name or an address. What differs from its listing is not printed: exit code 1.",
        (ANSWER,),
    ),
    "tasks": Verb(
        "tasks of servers: list, get, result, cancel, watch",
        "tasks [list] [SERVER] [options]\ntasks get|watch|result|cancel [SERVER] TASK [options]",
        "`get` says how a task is, `watch` prints a line for every change and then its result, `result` only that.",
        (ANSWER, OUTPUT),
        words=TASK_ACTIONS,
    ),
    "watch": Verb(
        "a line for every change of lists and resources, and for log messages",
        "watch [SERVER] URI… [options] [-- COMMAND ARGS…]\nwatch [--logs] [SERVER…] [options] [-- COMMAND ARGS…]",
        "It goes on until Ctrl-C. With --json every line is an object.",
        (
            Option("--events", "print what happens to the servers: connected, disconnected, reconnecting, failed"),
            Option("--logs", "print the log messages of the servers too"),
            Option("--log-level", "which log messages: this level and worse (debug)", "LEVEL", LOG_LEVELS),
        ),
    ),
    "dev": Verb(
        "start a server again when its files change, and say what that changes",
        "dev [SERVER] [options] [-- COMMAND ARGS…]\ndev --once [--baseline FILE] [options] [-- COMMAND ARGS…]",
        "What it offers is compared with what it offered before: ! marks what breaks clients, ~ the rest. Saved calls "
        "that are pinned are made again, and their answers compared. Without --watch sources in the server's folder "
        "count, but for .git, environments, packages and caches. With --once: exit code 1 where something breaking "
        "has changed or a pinned call is not answered as in the baseline, 4 where the server does not start.",
        (
            Option("--watch", "watch these files instead, as 'src/**/*.py' (may be repeated)", "GLOB"),
            Option("--once", "start it once, compare, and end"),
            Option("--baseline", "compare with this file first", "FILE"),
            Option("--write-baseline", "write what it offers and answers to this file", "FILE", needs=("--once",)),
            Option("--ignore", "what may differ in answers, as content[*].text (repeat it)", "PATTERN"),
            *(YES, ANSWER),
        ),
    ),
    "shell": Verb(
        "several commands on one connection, from the terminal or a pipe",
        "shell [SERVER] [options] [-- COMMAND ARGS…]",
        "A line is a verb with its options, without a server: list, search, call, read, get, complete, skills, "
        "tasks, watch or send; or help [VERB], or exit. Ctrl-C cancels the command that runs. All lines of a pipe "
        "are done; the exit code is that of the first command that failed.",
        (LOG_LEVEL, ANSWER),
    ),
    "send": Verb(
        "send any message, well-formed or not, and show what comes back",
        "send [SERVER] METHOD [options] [-- COMMAND ARGS…]\nsend [SERVER] --frame TEXT [options] [-- COMMAND ARGS…]",
        options=(
            Option("--params", "the params, any JSON; @FILE reads a file, - standard input", "JSON"),
            Option("--id", "the id, any JSON: 7, '\"x\"', null, 1.5; without it, a number that is free", "JSON"),
            Option("--meta", "members for the `_meta` of the params, over what 2026-07-28 wants there", "JSON"),
            Option("--notification", "without an id"),
            Option("--frame", "this instead, byte for byte; @FILE, - (may be repeated, one after the other)", "TEXT"),
            Option("--wait", "how long to wait for what comes back", "SECONDS"),
            Option("--no-handshake", "send nothing but this: no `initialize`, no `server/discover`"),
        ),
        apart=(*product(("--frame",), ("--params", "--id", "--meta", "--notification")), ("--notification", "--id")),
    ),
    "replay": Verb(
        "send what was recorded again, and show how the answers differ",
        "replay SESSION|FILE [QUERY] [options] [-- COMMAND ARGS…]",
        "SESSION is how a session's name begins, or `last`; FILE a bundle or JSONL file; QUERY chooses requests, "
        "such as `tool:search status:ok`. Exit code 1 where something differs, failed or could not be sent.",
        (
            Option("--ignore", "what may differ, as content[*].text; times and ids may anyway (repeat it)", "PATTERN"),
            Option("--set", "a secret that the recording lacks: password=${ENV} (may be repeated)", "FIELD=VALUE"),
            *(YES, ANSWER),
        ),
    ),
    "trace": Verb(
        "what was recorded: sessions, what is in them, live or exported",
        "trace [options]\ntrace SESSION [QUERY…] [options]",
        "Without a session it lists all. SESSION is how a session's name begins, `last`, `running` (the newest that "
        "is recorded now), or a file. QUERY is as in the studio, such as 'status:error >500ms since:10m not ping'.",
        (
            Option("--limit", "the newest N at most: 1,000 without it, 10 with --follow", "N"),
            Option("--follow", "go on with what comes, until the studio that records it ends, or Ctrl-C"),
            Option("--jsonl", "all of each entry, with its body, as JSON lines; with --follow too"),
            Option("--stats", "counts, errors, durations and bytes for each server, method and tool"),
            Option("--prometheus", "those as a Prometheus text file", needs=("--stats",)),
            Option("--span", "what belongs to entry N as a tree, with times", "N"),
            Option("--body", "the body of entry N, byte for byte", "N"),
            Option("--diff", "where the bodies of two entries differ, but for ids and times", "N,M"),
            Option("--export", "to standard output or --output", "FORMAT", EXPORTS),
            Option("--output", "the new file to export to", "FILE", short="-o", needs=("--jsonl", "--export")),
            Option("--to", "send spans, or with --stats metrics, to the OpenTelemetry collector there", "URL"),
            Option("--header", "goes with them (may be repeated)", "'K: V'", needs=("--to",)),
            Option("--delete", "delete the sessions that are named, without asking"),
            Option("--config", "also what is secret there is left out of what goes out (may be repeated)", "FILE"),
            *(JSON, QUIET),
        ),
        words=("last", "running"),
        apart=(
            *combinations(VIEWS, 2),
            *product(("--limit", "--jsonl", "--follow", "--export"), VIEWS),
            *product(("--to",), {*VIEWS, "--prometheus"} - {"--stats"}),
            *product(("--jsonl",), ("--export", "--to")),
            ("--follow", "--to"),
            *product(("--output", "--export"), ("--follow", "--to")),
        ),
        shared=(),
    ),
    "mock": Verb(
        "a server that answers as a recorded one did",
        "mock SESSION|FILE [--server NAME] [options]",
        "What was never asked is refused, naming the nearest request that was.",
        (
            Option("--server", "which server, where the recording has several", "NAME"),
            Option("--http", "Streamable HTTP on 127.0.0.1; its URL is the first line", "PORT", optional=True),
            Option("--latency", "recorded, none, or milliseconds for each answer (none)", "HOW"),
            QUIET,
        ),
        shared=(),
    ),
    "serve": Verb(
        "the servers as one MCP server, for agents' clients",
        "serve [--http [[HOST:]PORT]] [options] [-- COMMAND ARGS…]\nserve --install CLIENT [--project] [options]",
        "On standard input and output, or over HTTP on 127.0.0.1: the URL is the first line, and a token that was made "
        "is told. [gateway] in config.toml says what clients see and may do. What needs approval is asked of the "
        "client's person, or answered by `mcp-studio approvals`.",
        (
            Option("--mode", "tools that find and call the others (search), or all as they are", "MODE", MODES),
            Option("--http", "Streamable HTTP instead of standard input and output", "[HOST:]PORT", optional=True),
            Option("--workers", "so many processes behind one address (1)", "N", needs=("--http",)),
            Option("--install", "put the gateway into the file of a client; shows it first", "CLIENT"),
            Option("--project", "the client's file of this folder, not your own", needs=("--install",)),
            Option("--yes", "do not ask: neither about calls nor about the client's file", short="-y"),
        ),
        apart=(("--install", "--http"),),
    ),
    "approvals": Verb(
        "calls that wait for approval in a studio or gateway: list, approve, reject",
        "approvals [list]\napprovals approve|reject ID [--note TEXT]",
        options=(Option("--note", "why, for whoever wants the call", "TEXT"), JSON, QUIET),
        shared=(),
        words=("list", "approve", "reject"),
    ),
    "audit": Verb(
        "tool calls that were wanted: who, what, verdict, outcome",
        "audit [WORD…] [options]",
        "The newest is last. A line matches when it has all words.",
        (
            Option("--tool", "a pattern over SERVER.TOOL, such as 'files.*'", "PATTERN"),
            Option("--verdict", "only these", "VERDICT", ("allow", "ask", "deny")),
            Option("--limit", "the newest N at most (1,000)", "N"),
            *(JSON, QUIET),
        ),
        shared=(),
    ),
    "pins": Verb(
        "definitions of tools as they were accepted: list, accept changes, lock file for CI",
        "pins [list] [options]\npins accept [SERVER.TOOL…] [options]\npins export|check FILE [options]",
        "`accept` without a tool accepts all changes. `check` ends with exit code 6 where a tool differs from FILE.",
        words=("list", "accept", "export", "check"),
    ),
    "doctor": Verb(
        "connect, and say what was done, how long it took, what failed and what to try",
        "doctor [SERVER…] [options] [-- COMMAND ARGS…]",
    ),
    "auth": Verb(
        "sign in to servers at a URL: login, status, token, refresh, logout, forget",
        "auth login [SERVER] [options]       sign in, as the server asks for it\n"
        "auth login SERVER --redirect URL    go on with a sign-in: URL is the address that the browser ended on\n"
        "auth status [SERVER…] [options]     who is signed in where, until when\n"
        "auth token [SERVER] [--header]      print the access token, renewed where it has expired, or its header line\n"
        "auth refresh [SERVER]               renew the access token now\n"
        "auth logout [SERVER]                revoke the tokens where that is offered, and forget them\n"
        "auth forget [SERVER]                forget the tokens without telling anybody",
        "With one server at a URL its name can be left out. Without a browser and a terminal, `login` prints the "
        "address to open, keeps the sign-in for 15 minutes for --redirect, and ends with exit code 3.",
        (
            Option("--scope", "login: ask for these scopes too (may be repeated)", "SCOPES"),
            Option("--issuer", "login: the authorization server to use, where the server names several", "URL"),
            Option("--client-id", "login: the client that was registered for you there", "ID"),
            Option("--client-secret", "login: its secret: - for standard input or the terminal, or @FILE", "-|@FILE"),
            Option("--no-browser", "login: open no browser"),
            Option("--redirect", "login: the address that the browser ended on; - for standard input", "URL"),
            Option("--client", "forget: also who we are at the authorization server"),
        ),
        (*TARGET, *REMOTE, TIMEOUT, JSON, QUIET),
        words=("login", "status", "token", "refresh", "logout", "forget"),
    ),
    "config": Verb(
        "show and change the configuration",
        "config [show]                       what is in force, from which files, and what was left out and why\n"
        "config path                         the file that `add`, `remove` and `set` write\n"
        "config keys                         all keys of the studio\n"
        "config add [--name NAME] URL        add a server by its URL, or by its command: -- COMMAND ARGS…\n"
        "config add -                        add the servers of an mcp.json snippet from standard input\n"
        "config remove NAME                  remove a server\n"
        "config set KEY VALUE                set a value, such as `theme nord` or `limits.connect 30`\n"
        "config trust                        use ./.mcp-studio.toml, after showing what it starts\n"
        "config import [FILE]                servers of other clients: which files there are; add those of one\n"
        "config export CLIENT [SERVER…]      write servers into the file of another client; shows it first\n"
        "config secrets [list]               the secrets that ${keyring:NAME} stands for; never their values\n"
        "config secrets set NAME             keep a secret: typed without being shown, or from standard input\n"
        "config secrets remove NAME          forget it",
        options=(
            Option("--config", "the file to show or to write", "FILE"),
            Option("--name", "`add`: the name of the server", "NAME"),
            Option("--project", "`export`: the client's file of this folder, not your own"),
            Option("--keyring", "`add`, `import`: keep secrets that stand in clear in the keyring"),
            Option("--yes", "do not ask", short="-y"),
            *(JSON, QUIET),
        ),
        words=("show", "path", "keys", "add", "remove", "set", "trust", "import", "export", "secrets"),
        shared=(),
    ),
    "demo": Verb(
        "the studio on the bundled demo server",
        "demo [options]",
        "For the other verbs it is `-- python -m mcp_studio.servers.demo`.",
        shared=BENDING,
    ),
    "completion": Verb(
        "completion script for bash, zsh or fish",
        "completion bash|zsh|fish",
        "bash: source <(mcp-studio completion bash)\n"
        'zsh: mcp-studio completion zsh > "${fpath[1]}/_mcp-studio"\n'
        "fish: mcp-studio completion fish > ~/.config/fish/completions/mcp-studio.fish",
        words=("bash", "zsh", "fish"),
        shared=(),
    ),
}
"""In the order of the help."""
CONNECTION = Verb(
    "",
    "help connection",
    "Servers are the configured ones, or those of --config, --url or -- COMMAND ARGS…, which is started. Proxies "
    "are those of the environment: HTTPS_PROXY, HTTP_PROXY, ALL_PROXY and NO_PROXY.",
    COMMON,
    shared=(),
)
CODES = (
    "Exit codes: 0 ok, 1 failure, 2 usage or configuration, 3 sign-in needed, 4 unreachable, 5 tool error,\n"
    "6 input or approval needed, 130 interrupted."
)
SEE_CONNECTION = "About servers (--config, --url, -- COMMAND, --timeout …): mcp-studio --help connection\n"
