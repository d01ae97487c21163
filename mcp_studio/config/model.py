"""What configuration files say, as frozen values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Annotated, Literal, NamedTuple, get_args

from mcp_studio.jsontext import Json
from mcp_studio.limits import Limits
from mcp_studio.protocol.versions import LOG_LEVELS, VERSIONS
from mcp_studio.record import record

Verdict = Literal["allow", "ask", "deny"]


Risk = Literal["low", "medium", "high"]
RISKS: tuple[Risk, ...] = get_args(Risk)


@record(frozen=True)
class PolicyRule:
    """One `[[policy]]` table: which calls it is for, by everything that it names, and what happens to them."""

    tools: str = "*"
    """A pattern over `server.tool`."""
    verdict: Verdict = "ask"
    category: str = ""
    """A pattern over the category of the tool."""
    risk: Risk | Literal[""] = ""
    """The least risk of the call."""
    origin: Literal["", "person", "program"] = ""
    """Who wants the call."""
    arguments: Mapping[str, str] = field(default_factory=dict[str, str])
    """Patterns over the names of arguments (`path`, `filter.name`), and over their values; all must be found."""
    exactly: str = ""
    """The fingerprint of all arguments together (`config.settings.fingerprint`); empty fits any."""
    calls: int = 0
    """The rule is for calls beyond so many within `seconds`; 0 is for all."""
    seconds: float = 60.0
    per: Literal["tool", "server", "origin"] = "tool"
    """What is counted together."""
    until: str = ""
    """The last day on which it holds (`2026-12-31`)."""
    broken: bool = False
    """The table could not be read: calls of `tools` that everything else allows are asked about."""


@record(frozen=True)
class ToolRule:
    """One `[tools."PATTERN"]` table: what the person says of tools, whatever their servers say."""

    tools: str
    """A pattern over `server.tool`."""
    category: str = ""
    risk: Risk | Literal[""] = ""
    failover: bool = False
    """A call whose answer was lost may be sent again, to another member of the group."""


RuleAction = Literal["accept", "decline", "cancel", "ask"]
"""How a rule answers; `ask` leaves it to the person, after `wait` seconds."""


@record(frozen=True)
class AnswerRule:
    """One `[[answer]]` table: which questions of servers it is for, and how they are answered."""

    action: RuleAction
    server: str = "*"
    """A pattern over the server's name."""
    kind: Literal["any", "elicitation", "url", "sampling"] = "any"
    tool: str = "*"
    """A pattern over the name of the tool, prompt or resource whose call is waiting."""
    message: str = "*"
    """A pattern over what the server says."""
    schema: str = ""
    """The fingerprint of the requested schema (`config.answers.fingerprint`); empty fits any."""
    content: Json = None
    """The value of a form, or what a model says: text, or a whole `CreateMessageResult`. None: the defaults."""
    wait: float = 0.0
    """Seconds before it is answered."""
    source: str = ""
    """Where it stands, for the trace."""


Era = Literal["legacy", "auto", "modern"]
"""Which protocol era to speak: the handshake one, whichever the server knows, or the stateless one."""
Kind = Literal["stdio", "http", "sse", "websocket"]
"""How a server is reached: a child process, Streamable HTTP, HTTP+SSE (2024-11-05), or a WebSocket."""
Origin = Literal["user", "project", "file", "argument"]
"""Which kind of place a server's entry came from."""


class Source(NamedTuple):
    """Where an entry was read."""

    origin: Origin
    file: str = ""
    """The file, or an empty string for the command line."""


class Timeouts(NamedTuple):
    """Per-server deadlines in seconds; None means the value of `Limits`."""

    connect: float | None = None
    idle: float | None = None
    total: float | None = None
    option: str = ""
    """What set them, where that is not the entry: an option of the command line."""


@record(frozen=True)
class Root:
    """A folder or other place that a server may ask for (specification, client/roots)."""

    uri: str
    """A `file://` URI, or a path, which becomes one when the entry is put to use."""
    name: str = ""


Algorithm = Literal["ES256", "ES384", "ES512", "RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "EdDSA", "ES256K"]
"""RFC 7518 3.1, RFC 8037, RFC 8812."""


@record(frozen=True)
class Auth:
    """One `[servers.NAME.auth]` table: how to sign in where the server wants it. All of it can be left out."""

    kind: Literal["", "none", "code", "client_credentials", "private_key_jwt", "enterprise", "workload"] = ""
    """How to get a token: as the server asks (empty: with a person, in a browser), never, or by one of the grants that
    need no person (RFC 6749 4.4; RFC 7523 2.2; MCP enterprise-managed authorization; workload identity, RFC 7523 2.1).
    """
    account: str = ""
    """A word of the person's choice that tells several accounts at one address apart."""
    issuer: str = ""
    """The authorization server to use where several are named; with `kind`, also where none is."""
    client_id: str = ""
    """A client that was registered beforehand."""
    client_secret: str = ""
    client_metadata_url: str = ""
    """Where our client id metadata document is kept, for authorization servers that read such."""
    scopes: tuple[str, ...] = ()
    """What to ask for besides what the server names."""
    method: Literal["", "none", "client_secret_basic", "client_secret_post", "private_key_jwt"] = ""
    """How the client shows itself at the token endpoint (RFC 7591 2; OpenID Connect Core 9); empty leaves it to the
    authorization server's metadata."""
    redirect_port: int = 0
    """The port on this machine that the browser is sent back to; 0 leaves it to us."""
    redirect_host: Literal["127.0.0.1", "localhost"] = "127.0.0.1"
    """For clients that were registered with the other name of this machine (RFC 8252 7.3, 8.3)."""
    key: str = ""
    """The private key as PEM, or the file it is in (`private_key_jwt`)."""
    algorithm: Algorithm = "ES256"
    """How `key` signs."""
    assertion: str = ""
    """The workload's JWT, or the file it is in, read anew each time (`workload`)."""
    idp_token_endpoint: str = ""
    """Where the identity provider exchanges tokens (`enterprise`)."""
    idp_client_id: str = ""
    idp_client_secret: str = ""
    idp_id_token: str = ""
    """The identity token that a person got there, or the file it is in."""
    dpop: bool = False
    """Bind tokens to a key of ours also where the server does not ask for it (RFC 9449)."""
    assume_pkce: bool = False
    """Go on where the authorization server does not say that it knows PKCE, as some do that know it."""

    @property
    def alone(self) -> bool:
        """Whether tokens are got by one of the grants that need no person."""
        return self.kind not in ("", "none", "code")

    @property
    def whose(self) -> str:
        """Under what its sign-in is kept beside others at the same address: the account, else the client."""
        return self.account or self.client_id


@record(frozen=True)
class Tls:
    """One `[servers.NAME.tls]` table."""

    ca: str = ""
    """A file, or folder, with further certificate authorities to trust (PEM)."""
    cert: str = ""
    """The client certificate (PEM)."""
    key: str = ""
    """Its private key, where it is not in the same file."""
    password: str = ""
    """What the key is encrypted under."""
    insecure: bool = False
    """Accept any certificate of this server; marked wherever the server is shown."""


@record(frozen=True)
class Sandbox:
    """One `[servers.NAME.sandbox]` table: what is taken from a program."""

    network: bool = True
    files: Literal["", "none", "read", "readwrite"] = ""
    """What it may do with `paths`, and nothing with other files; an empty string leaves it all of them."""
    paths: tuple[str, ...] = ()


@record(frozen=True)
class ServerConfig:
    """One `[servers.NAME]` table, after `${…}` expansion."""

    name: str
    command: str = ""
    args: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict[str, str])
    """Variables set for the child, besides the few that every child gets."""
    inherit_env: tuple[str, ...] = ()
    """Names of further variables of our own environment that the child gets."""
    cwd: str = ""
    url: str = ""
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    headers_command: tuple[str, ...] = ()
    """A program, and its arguments, that prints headers for a remote server (`transport.headers`)."""
    transport: Kind | Literal[""] = ""
    """How it is reached, as written; empty means that command or url say it."""
    era: Era = "auto"
    protocol_version: Annotated[str, VERSIONS] = ""
    """The only version to offer; empty means the newest of the era."""
    capabilities: Json = None
    """The client capabilities to declare instead of what the front end can answer; an object or None."""
    client_info: Json = None
    """The `Implementation` object to give as our own; an object or None."""
    roots: tuple[Root, ...] = ()
    """What `roots/list` is answered with."""
    log_level: Annotated[str, LOG_LEVELS] = ""
    """The level of log messages to ask for; empty leaves it to the server."""
    enabled: bool = True
    """Whether it is started with the studio."""
    start: Literal["", "demand"] = ""
    """`demand`: it is started by the first call, not with the studio."""
    watch: tuple[str, ...] = ()
    """Globs from its folder: when such a file changes while the studio runs, it is started again."""
    trust: bool = False
    """Whether its tool annotations are believed."""
    cache_ttl: float = -1.0
    """Seconds for which what is read is given again, whatever the server says of that; 0 is for ever."""
    filter: Literal["", "off", "mark", "mask"] = ""
    """What is done with secrets and personal data in its results; empty is as the settings have it."""
    group: str = ""
    priority: int = 0
    timeouts: Timeouts = Timeouts()
    probe: float = 60.0
    """Seconds after which an idle server over HTTP is asked whether it is still there; 0 is never."""
    auth: Auth = Auth()
    tls: Tls = Tls()
    sandbox: Sandbox = Sandbox()
    secrets: tuple[str, ...] = ()
    """Values that came from `${…}` or stand in secret-looking places: told to the redactor, never shown."""
    source: Source = Source("argument")
    keep_session: bool = False
    """Its HTTP session is left open when we go: something in it goes on."""
    written: ServerConfig | None = None
    """The entry as it was written, `${…}` not replaced: what is edited, shown in forms, and saved."""

    @property
    def kind(self) -> Kind:
        """How it is reached."""
        plain: Kind = "http" if self.url else "stdio"
        return self.transport or ("websocket" if self.url.startswith(("ws://", "wss://")) else plain)

    @property
    def signs_in(self) -> bool:
        """Whether OAuth comes into play: it is remote, and nothing else was configured for it.

        An Authorization header, a command that makes headers, or a user name in the address, leaves OAuth out unless
        `auth.kind` wants it.
        """
        host = self.url.partition("://")[2].partition("/")[0].partition("?")[0].partition("#")[0]
        named = any(name.lower() == "authorization" for name in self.headers)
        given = "@" in host or named or self.headers_command
        return self.kind != "stdio" and self.auth.kind != "none" and bool(self.auth.kind or not given)


Keeping = Literal["keyring", "file", "memory"]
"""Where tokens and named secrets are kept: the OS keyring, an encrypted file that was asked for, or nowhere."""
Cjk = Literal["characters", "jieba"]
"""How Chinese is taken apart: into characters and pairs of them, or into words by the package jieba."""


@record(frozen=True)
class GatewayClient:
    """One `[gateway.clients.NAME]` table: a client of the gateway over HTTP that has a token of its own."""

    name: str
    token: str = ""
    """What it shows as its bearer token: a reference such as `${keyring:NAME}`."""
    tools: tuple[str, ...] = ()
    """Patterns over `server.tool`: it sees nothing else. Empty shows all."""
    register: bool = False
    """It may register tools."""


@record(frozen=True)
class GatewaySettings:
    """The `[gateway]` table: what `mcp-studio serve` shows to its clients, and what they may do."""

    mode: Literal["search", "all"] = "search"
    """Tools that find and call the others, or each tool of each server as one of its own."""
    tools: tuple[str, ...] = ()
    """Patterns over `server.tool`: nothing else is shown. Empty shows all."""
    hidden: tuple[str, ...] = ()
    """Patterns over what is not shown all the same."""
    rename: Mapping[str, str] = field(default_factory=dict[str, str])
    """`server.tool` and what clients know it as."""
    prefix: str = "mcp__{server}__"
    """What stands before the names of tools and prompts."""
    hot: tuple[str, ...] = ()
    """Patterns over tools that are tools of their own beside those that search."""
    approval: Literal["client", "terminal", "never"] = "client"
    """Who is asked where a call needs approval: also the client, only `mcp-studio approvals`, or nobody."""
    calls: int = 600
    """Requests of one client a minute; 0 is any number."""
    register: bool = False
    """A client without a table of its own may register tools."""
    token: str = ""
    """The bearer token of clients without a table of their own; empty makes one at each start."""
    hosts: tuple[str, ...] = ()
    """Further `Host` headers that are served: the gateway's names behind a proxy."""
    clients: tuple[GatewayClient, ...] = ()


@record(frozen=True)
class Settings:
    """Everything in config.toml besides the servers."""

    theme: str = "studio-dark"
    ascii: bool = False
    """Draw with ASCII characters only."""
    keys: Mapping[str, str] = field(default_factory=dict[str, str])
    """Action id -> comma-separated keys."""
    editor: str = ""
    """The command that edits a file, such as `code --wait`; empty for $VISUAL and $EDITOR."""
    start_processes: int = 8
    """How many child processes may be starting at a time."""
    start_remote: int = 16
    """How many remote servers may be connecting at a time."""
    limits: Limits = Limits()
    policy: tuple[PolicyRule, ...] = ()
    tools: tuple[ToolRule, ...] = ()
    answers: tuple[AnswerRule, ...] = ()
    """Rules that answer what servers ask; the first that fits does."""
    cache_ttl: float = -1.0
    """Seconds for which what is read is given again where the server does not say; 0 is for ever."""
    filter: Literal["off", "mark", "mask"] = "off"
    """What is done with secrets and personal data in results."""
    history: int = 20
    """How many calls of each entry are remembered; 0 remembers none."""
    calls: str = ""
    """The folder of saved calls that is read first; empty means that of the project."""
    record: bool = True
    """Keep on disk what crosses the wire."""
    record_bytes: int = 256 << 20
    """Bytes of all recorded sessions on disk; the oldest go first."""
    record_age: float = 14 * 86_400.0
    """Seconds after which a recorded session goes."""
    traceparent: bool = False
    """Say in every request which trace it belongs to (W3C Trace Context)."""
    search_method: str = "auto"
    """`[search] method`: how is searched where nobody says; also the name of a plug-in's method."""
    search_cjk: Cjk = "characters"
    """`[search] cjk`."""
    search_semantic: bool = True
    """`[search] semantic`: compare by meaning where the extra for it is installed."""
    search_usage: bool = True
    """`[search] usage`: remember what is run and opened, for the order of what is found."""
    registry_storage: str = ""
    """`[registry] storage`: a file (`.json`, `.sqlite`), or `postgresql://HOST/DATABASE`; empty for one of ours."""
    secrets: Keeping = "keyring"
    """`[secrets] store`."""
    browser: str = ""
    """The command that opens a page (`[auth] browser`); empty for the desktop's, `none` on a machine without one."""
    client_metadata_url: str = ""
    """`[auth] client_metadata_url`: as `Auth.client_metadata_url`, for all servers that say nothing else."""
    redact: tuple[str, ...] = ()
    """Further header names, key names or regular expressions whose values are secret."""
    gateway: GatewaySettings = GatewaySettings()


class Problem(NamedTuple):
    """Something in a configuration file that was left out, and why, in a sentence that names file and key."""

    file: str
    key: str
    message: str
    hint: str = ""

    def __str__(self) -> str:
        return ": ".join(filter(None, self[:3])) + (f" {self.hint}" if self.hint else "")


class Untrusted(NamedTuple):
    """A project file that nobody has agreed to yet: nothing of it is in use."""

    file: str
    digest: str
    """SHA-256 of its path and content; agreeing is remembered under it."""
    servers: tuple[ServerConfig, ...]
    """What it would start, for the question that is put to the person."""


@record(frozen=True)
class Config:
    """All configuration in force: what loaded, and what did not."""

    settings: Settings = Settings()
    servers: Mapping[str, ServerConfig] = field(default_factory=dict[str, ServerConfig])
    problems: tuple[Problem, ...] = ()
    untrusted: tuple[Untrusted, ...] = ()
    files: tuple[str, ...] = ()
    """The files that were read."""
    named: str = ""
    """The last file that `--config` names and that is ours to write: new servers go there."""

    @property
    def only(self) -> str:
        """The one server that can be meant without naming it; empty where there is none, or several."""
        names = [name for name, server in self.servers.items() if server.enabled or len(self.servers) == 1]
        return names[0] if len(names) == 1 else ""

    def problem_of(self, name: str) -> Problem | None:
        """What was wrong with a server's entry, first of all."""
        return next((one for one in self.problems if name in one.key.split(".")[1:2]), None)
