"""The content of configuration files, as frozen values."""

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
    """One `[[policy]]` table: the conditions that select calls, and the verdict on them."""

    tools: str = "*"
    """A pattern over `server.tool`."""
    verdict: Verdict = "ask"
    category: str = ""
    """A pattern over the category of the tool."""
    risk: Risk | Literal[""] = ""
    """The least risk of the call."""
    origin: Literal["", "person", "program"] = ""
    """Who makes the call."""
    arguments: Mapping[str, str] = field(default_factory=dict[str, str])
    """Patterns over the names of arguments (`path`, `filter.name`), with patterns over their values; all must match."""
    exactly: str = ""
    """The fingerprint of all arguments together (`config.settings.fingerprint`); empty matches any."""
    calls: int = 0
    """The rule applies to calls beyond this number within `seconds`; 0 applies to all."""
    seconds: float = 60.0
    per: Literal["tool", "server", "origin"] = "tool"
    """Which calls are counted together."""
    until: str = ""
    """The last day on which the rule applies (`2026-12-31`)."""
    broken: bool = False
    """The table could not be read: calls of `tools` that all other rules allow need approval."""


@record(frozen=True)
class ToolRule:
    """One `[tools."PATTERN"]` table: the person's statement on tools, which overrides their servers'."""

    tools: str
    """A pattern over `server.tool`."""
    category: str = ""
    risk: Risk | Literal[""] = ""
    failover: bool = False
    """A call whose answer was lost may be sent again, to another server of the group."""


RuleAction = Literal["accept", "decline", "cancel", "ask"]
"""The rule's answer; `ask` leaves the question to the person, after `wait` seconds."""


@record(frozen=True)
class AnswerRule:
    """One `[[answer]]` table: the conditions that select questions of servers, and the answer to them."""

    action: RuleAction
    server: str = "*"
    """A pattern over the server's name."""
    kind: Literal["any", "elicitation", "url", "sampling"] = "any"
    tool: str = "*"
    """A pattern over the name of the tool, prompt or resource whose call is waiting."""
    message: str = "*"
    """A pattern over the server's message."""
    schema: str = ""
    """The fingerprint of the requested schema (`config.settings.fingerprint`); empty matches any."""
    content: Json = None
    """The value of a form, or a model's reply: text, or a whole `CreateMessageResult`. None means the defaults."""
    wait: float = 0.0
    """Seconds before the rule answers."""
    source: str = ""
    """The place of the rule, for the trace."""


Era = Literal["legacy", "auto", "modern"]
"""The protocol era to speak: the handshake era, whichever the server knows, or the stateless era."""
Kind = Literal["stdio", "http", "sse", "websocket"]
"""The transport of a server: a child process, Streamable HTTP, HTTP+SSE (2024-11-05), or a WebSocket."""
Origin = Literal["user", "project", "file", "argument"]
"""The kind of place that a server's entry came from."""


class Source(NamedTuple):
    """The place that an entry was read from."""

    origin: Origin
    file: str = ""
    """The file, or an empty string for the command line."""


class Timeouts(NamedTuple):
    """Per-server deadlines in seconds; None means the value of `Limits`."""

    connect: float | None = None
    idle: float | None = None
    total: float | None = None
    option: str = ""
    """The command-line option that set the deadlines; empty where the entry did."""


@record(frozen=True)
class Root:
    """A folder or other place that the server may ask for (specification, client/roots)."""

    uri: str
    """A `file://` URI, or a path, which expansion turns into a URI."""
    name: str = ""


Algorithm = Literal["ES256", "ES384", "ES512", "RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "EdDSA", "ES256K"]
"""RFC 7518 3.1, RFC 8037, RFC 8812."""


@record(frozen=True)
class Auth:
    """One `[servers.NAME.auth]` table: how to sign in where the server asks for it. Every key is optional."""

    kind: Literal["", "none", "code", "client_credentials", "private_key_jwt", "enterprise", "workload"] = ""
    """How to get a token: as the server asks (empty: with a person, in a browser), never, or by one of the grants
    without a person (RFC 6749 4.4; RFC 7523 2.2; MCP enterprise-managed authorization; workload identity, RFC 7523
    2.1).
    """
    account: str = ""
    """A word of the person's choice that distinguishes several accounts at one address."""
    issuer: str = ""
    """The authorization server to use where the resource names several; with `kind`, also where it names none."""
    client_id: str = ""
    """The id of a client that was registered beforehand."""
    client_secret: str = ""
    client_metadata_url: str = ""
    """The address of our client id metadata document, for authorization servers that read such documents."""
    scopes: tuple[str, ...] = ()
    """Scopes to ask for besides those that the server names."""
    method: Literal["", "none", "client_secret_basic", "client_secret_post", "private_key_jwt"] = ""
    """How the client authenticates at the token endpoint (RFC 7591 2; OpenID Connect Core 9).

    Empty leaves the choice to the authorization server's metadata.
    """
    redirect_port: int = 0
    """The port on this machine that the browser is sent back to; 0 takes a free one."""
    redirect_host: Literal["127.0.0.1", "localhost"] = "127.0.0.1"
    """`localhost` is for clients that were registered with that name of this machine (RFC 8252 7.3, 8.3)."""
    key: str = ""
    """The private key as PEM, or its file (`private_key_jwt`)."""
    algorithm: Algorithm = "ES256"
    """The algorithm with which `key` signs."""
    assertion: str = ""
    """The workload's JWT, or its file, which is read again each time (`workload`)."""
    idp_token_endpoint: str = ""
    """The endpoint of the identity provider that exchanges tokens (`enterprise`)."""
    idp_client_id: str = ""
    idp_client_secret: str = ""
    idp_id_token: str = ""
    """The identity token that the identity provider gave the person, or its file."""
    dpop: bool = False
    """Bind tokens to a key of ours also where the server does not ask for it (RFC 9449)."""
    assume_pkce: bool = False
    """Continue even if the authorization server does not declare PKCE, because some support it without saying so."""

    @property
    def alone(self) -> bool:
        """Whether a grant without a person provides the tokens."""
        return self.kind not in ("", "none", "code")

    @property
    def whose(self) -> str:
        """The key that distinguishes this sign-in from others at the same address: the account, else the client."""
        return self.account or self.client_id


@record(frozen=True)
class Tls:
    """One `[servers.NAME.tls]` table."""

    ca: str = ""
    """A file, or folder, with further certificate authorities to trust (PEM)."""
    cert: str = ""
    """The client certificate (PEM)."""
    key: str = ""
    """The private key of the certificate, unless it is in the same file."""
    password: str = ""
    """The password that decrypts the private key."""
    insecure: bool = False
    """Accept any certificate of this server; front ends mark such a server wherever they show it."""


@record(frozen=True)
class Sandbox:
    """One `[servers.NAME.sandbox]` table: the access that is taken away from a local server."""

    network: bool = True
    files: Literal["", "none", "read", "readwrite"] = ""
    """The access to `paths`; other files are out of reach then. Empty leaves the server all files."""
    paths: tuple[str, ...] = ()


@record(frozen=True)
class ServerConfig:
    """One `[servers.NAME]` table, after `${…}` expansion."""

    name: str
    command: str = ""
    args: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict[str, str])
    """Variables that are set for the child process, besides the few that every child gets."""
    inherit_env: tuple[str, ...] = ()
    """Names of further variables that the child process inherits from ours."""
    cwd: str = ""
    url: str = ""
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    headers_command: tuple[str, ...] = ()
    """A program with arguments that prints headers for a remote server (`transport.headers`)."""
    transport: Kind | Literal[""] = ""
    """The transport, as written; empty derives it from command or url."""
    era: Era = "auto"
    protocol_version: Annotated[str, VERSIONS] = ""
    """The only version to offer; empty means the newest of the era."""
    capabilities: Json = None
    """Client capabilities to declare instead of those of the front end; an object or None."""
    client_info: Json = None
    """The `Implementation` object to send instead of ours; an object or None."""
    roots: tuple[Root, ...] = ()
    """The answer to `roots/list`."""
    log_level: Annotated[str, LOG_LEVELS] = ""
    """The level of log messages to ask for; empty leaves it to the server."""
    enabled: bool = True
    """Whether the server starts with the studio."""
    start: Literal["", "demand"] = ""
    """`demand`: the first call starts the server, not the studio."""
    watch: tuple[str, ...] = ()
    """Globs below the server's folder: the server is restarted when a matching file changes."""
    trust: bool = False
    """Whether the studio believes the annotations of the server's tools."""
    cache_ttl: float = -1.0
    """Seconds for which the cache returns a resource again, whatever the server says; 0 is forever."""
    filter: Literal["", "off", "mark", "mask"] = ""
    """What happens to secrets and personal data in the server's results; empty leaves it to the settings."""
    group: str = ""
    priority: int = 0
    timeouts: Timeouts = Timeouts()
    probe: float = 60.0
    """Seconds after which an idle HTTP server is asked whether it is still there; 0 is never."""
    auth: Auth = Auth()
    tls: Tls = Tls()
    sandbox: Sandbox = Sandbox()
    secrets: tuple[str, ...] = ()
    """Values from `${…}` or from keys that usually hold secrets: the redactor learns them, and nothing shows them."""
    source: Source = Source("argument")
    keep_session: bool = False
    """Whether the HTTP session stays open when the studio leaves, because something continues in it."""
    written: ServerConfig | None = None
    """The entry with its `${…}`: the version that is edited, shown in forms, and saved."""

    @property
    def kind(self) -> Kind:
        """The transport of the server."""
        plain: Kind = "http" if self.url else "stdio"
        return self.transport or ("websocket" if self.url.startswith(("ws://", "wss://")) else plain)

    @property
    def signs_in(self) -> bool:
        """Whether OAuth may be used: the server is remote, and no other credentials were configured for it.

        An Authorization header, a command that prints headers, or a user name in the address excludes OAuth, unless
        `auth.kind` asks for it.
        """
        host = self.url.partition("://")[2].partition("/")[0].partition("?")[0].partition("#")[0]
        named = any(name.lower() == "authorization" for name in self.headers)
        configured = "@" in host or named or self.headers_command
        return self.kind != "stdio" and self.auth.kind != "none" and bool(self.auth.kind or not configured)


VaultKind = Literal["keyring", "file", "memory"]
"""The store of tokens and named secrets: the system's keyring, an encrypted file on request, or memory alone."""
Cjk = Literal["characters", "jieba"]
"""How Chinese text is split: into characters and pairs of them, or into words by the package jieba."""


@record(frozen=True)
class GatewayClient:
    """One `[gateway.clients.NAME]` table: an HTTP client of the gateway that has a token of its own."""

    name: str
    token: str = ""
    """The client's bearer token: a reference such as `${keyring:NAME}`."""
    tools: tuple[str, ...] = ()
    """Patterns over `server.tool`: the only tools that the client sees. Empty shows all."""
    register: bool = False
    """The client may register tools."""


@record(frozen=True)
class GatewaySettings:
    """The `[gateway]` table: what `mcp-studio serve` shows to its clients, and what they may do."""

    mode: Literal["search", "all"] = "search"
    """`search` shows tools that find and call the others; `all` shows each tool of each server."""
    tools: tuple[str, ...] = ()
    """Patterns over `server.tool`: the only tools that clients see. Empty shows all."""
    hidden: tuple[str, ...] = ()
    """Patterns over tools that stay hidden although `tools` shows them."""
    rename: Mapping[str, str] = field(default_factory=dict[str, str])
    """The names that clients see, by `server.tool`."""
    prefix: str = "mcp__{server}__"
    """The text before the names of tools and prompts."""
    hot: tuple[str, ...] = ()
    """Patterns over tools that clients see beside the search tools."""
    approval: Literal["client", "terminal", "never"] = "client"
    """Who is asked where a call needs approval: the client too, only `mcp-studio approvals`, or nobody."""
    calls: int = 600
    """Requests that one client may send in a minute; 0 is any number."""
    register: bool = False
    """Clients without a table of their own may register tools."""
    token: str = ""
    """The bearer token of clients without a table of their own; empty creates a token at each start."""
    hosts: tuple[str, ...] = ()
    """Further `Host` headers that the gateway accepts: its names behind a proxy."""
    clients: tuple[GatewayClient, ...] = ()


@record(frozen=True)
class Settings:
    """The content of config.toml besides the servers."""

    theme: str = "studio-dark"
    ascii: bool = False
    """Draw with ASCII characters only."""
    keys: Mapping[str, str] = field(default_factory=dict[str, str])
    """Action id -> comma-separated keys."""
    editor: str = ""
    """The command that edits a file, such as `code --wait`; empty for $VISUAL and $EDITOR."""
    start_processes: int = 8
    """The most child processes that start at the same time."""
    start_remote: int = 16
    """The most remote servers that connect at the same time."""
    limits: Limits = Limits()
    policy: tuple[PolicyRule, ...] = ()
    tools: tuple[ToolRule, ...] = ()
    answers: tuple[AnswerRule, ...] = ()
    """Rules that answer questions of servers; the first rule that matches answers."""
    cache_ttl: float = -1.0
    """Seconds for which the cache returns a resource where the server says nothing of it; 0 is forever."""
    filter: Literal["off", "mark", "mask"] = "off"
    """What happens to secrets and personal data in results."""
    history: int = 20
    """The number of calls that are remembered for each entry; 0 remembers none."""
    calls: str = ""
    """The folder of saved calls that is read first; empty means the project's folder."""
    record: bool = True
    """Record the wire traffic on disk."""
    record_bytes: int = 256 << 20
    """Bytes of all recorded sessions on disk; the oldest sessions are deleted first."""
    record_age: float = 14 * 86_400.0
    """Seconds after which a recorded session is deleted."""
    traceparent: bool = False
    """Name in every request the trace that it belongs to (W3C Trace Context)."""
    search_method: str = "auto"
    """`[search] method`: the search method where nobody chooses one; may name a plug-in's method."""
    search_cjk: Cjk = "characters"
    """`[search] cjk`."""
    search_semantic: bool = True
    """`[search] semantic`: compare by meaning where the extra for it is installed."""
    search_usage: bool = True
    """`[search] usage`: remember which entries are run and opened, to rank search results."""
    registry_storage: str = ""
    """`[registry] storage`: a file (`.json`, `.sqlite`), or `postgresql://HOST/DATABASE`; empty for our own file."""
    secrets: VaultKind = "keyring"
    """`[secrets] store`."""
    browser: str = ""
    """The command that opens a page (`[auth] browser`); empty for the desktop's, `none` on a machine without one."""
    client_metadata_url: str = ""
    """`[auth] client_metadata_url`: `Auth.client_metadata_url` of all servers that set none themselves."""
    redact: tuple[str, ...] = ()
    """Further header names, key names or regular expressions whose values are secret."""
    gateway: GatewaySettings = GatewaySettings()


class Problem(NamedTuple):
    """A part of a configuration file that was ignored, and why; `message` is a sentence about the file's key."""

    file: str
    key: str
    message: str
    hint: str = ""

    def __str__(self) -> str:
        return ": ".join(filter(None, self[:3])) + (f" {self.hint}" if self.hint else "")


class Untrusted(NamedTuple):
    """A project file that the person has not agreed to yet: nothing of the file is in use."""

    file: str
    digest: str
    """SHA-256 of path and content, under which an agreement is remembered."""
    servers: tuple[ServerConfig, ...]
    """The servers that the file would start, for the question to the person."""


@record(frozen=True)
class Config:
    """All configuration in force, with the problems of what did not load."""

    settings: Settings = Settings()
    servers: Mapping[str, ServerConfig] = field(default_factory=dict[str, ServerConfig])
    problems: tuple[Problem, ...] = ()
    untrusted: tuple[Untrusted, ...] = ()
    files: tuple[str, ...] = ()
    named: str = ""
    """The last of our own files that `--config` names: new servers are written there."""

    @property
    def only(self) -> str:
        """The only server that a command can mean without naming it; empty where there is none or several."""
        names = [name for name, server in self.servers.items() if server.enabled or len(self.servers) == 1]
        return names[0] if len(names) == 1 else ""

    def problem_of(self, name: str) -> Problem | None:
        """The first problem of a server's entry, or None."""
        return next((one for one in self.problems if name in one.key.split(".")[1:2]), None)
