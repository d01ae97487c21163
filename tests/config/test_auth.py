"""How to sign in to a server, as it is written: read, checked as a whole, made usable, saved as it was."""

from __future__ import annotations

import tomllib
from dataclasses import fields, replace
from pathlib import Path

import pytest

from mcp_studio.config.model import Auth, ServerConfig, Tls
from mcp_studio.config.save import put_server
from mcp_studio.config.servers import file_of, to_table
from mcp_studio.present.definition import cautions
from tests.config.helpers import load_file, load_user, trust

SERVER = '[servers.s]\nurl = "https://example.com/mcp"\n'
FULL = """
[servers.s]
url = "https://example.com/mcp"

[servers.s.auth]
account = "work"                  # the one of the office
issuer = "https://login.example.com"
client_id = "abc"
client_secret = "${keyring:github}"
client_metadata_url = "https://example.org/client.json"
scopes = ["read", "write:all"]
method = "client_secret_basic"
redirect_port = 7338
redirect_host = "localhost"
dpop = true
assume_pkce = true

[servers.s.tls]
ca = "certificates/ours.pem"
cert = "client.pem"
key = "${CERTIFICATES}/client.key"
password = "${keyring:github}"
"""


def read(auth: str, server: str = SERVER, environ: dict[str, str] | None = None) -> tuple[ServerConfig | None, str]:
    """The server with this in its `[servers.s.auth]`, and what was wrong with it."""
    config = load_user(f"{server}\n[servers.s.auth]\n{auth}\n", environ)
    return config.servers.get("s"), "\n".join(str(problem) for problem in config.problems)


def test_everything_is_read_and_its_references_replaced(tmp_path: Path) -> None:
    config = load_file(tmp_path / "own.toml", FULL, {"CERTIFICATES": "/etc/certs"})
    assert not config.problems
    server = config.servers["s"]
    assert server.auth == Auth(
        account="work",
        issuer="https://login.example.com",
        client_id="abc",
        client_secret="gh-secret-1",
        client_metadata_url="https://example.org/client.json",
        scopes=("read", "write:all"),
        method="client_secret_basic",
        redirect_port=7338,
        redirect_host="localhost",
        dpop=True,
        assume_pkce=True,
    )
    assert server.tls.ca == str(tmp_path / "certificates/ours.pem"), "relative to the file"
    assert server.tls.key == "/etc/certs/client.key"
    assert server.tls.password == "gh-secret-1"


def test_what_is_saved_is_what_was_written_and_comments_stay(tmp_path: Path) -> None:
    file = tmp_path / "own.toml"
    server = load_file(file, FULL, {"CERTIFICATES": "/etc/certs"}).servers["s"]
    assert to_table(server) == tomllib.loads(FULL)["servers"]["s"]
    assert server.written is not None
    edited = replace(server.written, auth=replace(server.written.auth, scopes=("read",)))
    put_server(file, edited)
    text = file.read_text("utf-8")
    assert "# the one of the office" in text and 'scopes = ["read"]' in text and "gh-secret-1" not in text
    put_server(file, replace(edited, auth=Auth(), tls=Tls()))
    assert tomllib.loads(file.read_text("utf-8"))["servers"]["s"] == {"url": "https://example.com/mcp"}


def test_every_key_survives_being_written_and_read_again(tmp_path: Path) -> None:
    values = {item.name: f"{item.name}-value" for item in fields(Auth) if isinstance(getattr(Auth(), item.name), str)}
    values |= {"kind": "enterprise", "method": "private_key_jwt", "redirect_host": "localhost", "algorithm": "RS256"}
    values |= {key: "https://a.example/b" for key in ("issuer", "client_metadata_url", "idp_token_endpoint")}
    del values["assertion"]
    auth = Auth(**values, scopes=("a",), redirect_port=9, dpop=True, assume_pkce=True)  # type: ignore[arg-type]
    file = tmp_path / "own.toml"
    put_server(file, ServerConfig("s", url="https://example.com", auth=auth))
    found = load_file(file, file.read_text("utf-8")).servers["s"].written
    assert found is not None and found.auth == auth


def test_secrets_are_known_as_such_and_files_are_not() -> None:
    pem = "-----BEGIN PRIVATE KEY-----\\nabc\\n-----END PRIVATE KEY-----"
    server, wrong = read(f'kind = "private_key_jwt"\nclient_id = "me"\nkey = "{pem}"')
    assert server is not None and not wrong
    assert pem.replace("\\n", "\n") in server.secrets
    server, _ = read('kind = "private_key_jwt"\nclient_id = "me"\nkey = "~/keys/me.pem"', environ={"HOME": "/home/me"})
    assert server is not None and server.auth.key == "/home/me/keys/me.pem" and server.secrets == ()
    server, _ = read('kind = "workload"\nassertion = "eyJhbGciOiJFUzI1NiJ9.eyJzdWIiOiJ3In0.c2ln"')
    assert server is not None and server.secrets == ("eyJhbGciOiJFUzI1NiJ9.eyJzdWIiOiJ3In0.c2ln",)
    server, _ = read('kind = "client_credentials"\nclient_id = "me"\nclient_secret = "hush-hush"')
    assert server is not None and server.secrets == ("hush-hush",)


@pytest.mark.parametrize(
    ("value", "file"),
    [
        ("", ""),
        ("/run/secrets/token", "/run/secrets/token"),
        ("eyJ.token", "eyJ.token"),
        ("eyJhbGciOiJub25lIn0.eyJ9.", ""),
        ("-----BEGIN EC PRIVATE KEY-----\n", ""),
        ('{"kty": "EC"}', ""),
        ("token.jwt.txt", "token.jwt.txt"),
    ],
)
def test_a_value_is_told_from_the_file_that_it_is_in(value: str, file: str) -> None:
    assert file_of(value) == file


@pytest.mark.parametrize(
    ("auth", "says"),
    [
        ('kind = "client_credentials"', "auth.client_id: is needed for the kind `client_credentials`"),
        ('kind = "client_credentials"\nclient_id = "me"', "auth.client_secret: is needed"),
        ('kind = "private_key_jwt"\nclient_id = "me"', "auth.key: is needed"),
        ('kind = "workload"', "auth.assertion: is needed"),
        ('kind = "enterprise"\nclient_id = "me"', "auth.idp_token_endpoint: is needed"),
        ('kind = "password"', "auth.kind: must be one of none, code, client_credentials"),
        ('client_secret = "hush"', "auth.client_id: is missing"),
        ('method = "mtls"', "auth.method: must be one of none, client_secret_basic"),
        ('assertion = "/run/token"', 'Add kind = "workload"'),
        ('key = "/run/key"', 'Add kind = "private_key_jwt"'),
        ('idp_client_id = "x"', 'Add kind = "enterprise"'),
        ('redirect_host = "example.com"', "auth.redirect_host: must be one of 127.0.0.1, localhost"),
        ("redirect_port = 70000", "auth.redirect_port: must be from 0 to 65535, not 70000"),
        ("redirect_port = -1", "auth.redirect_port: must be 0 or more, not -1"),
        ('algorithm = "HS256"', "auth.algorithm: must be one of ES256"),
        ('issuer = "http://login.example.com"', "auth.issuer: `http://login.example.com` is no https:// address"),
        ('issuer = "javascript:alert(1)"', "is no https:// address"),
        ('client_metadata_url = "https://example.com"', "is no https:// address with a path"),
        ('scopes = "read"', "auth.scopes: must be a list, not a string"),
        ('clientid = "me"', "auth.clientid: is not a known key. Did you mean `client_id`?"),
    ],
)
def test_what_cannot_work_is_said_and_costs_this_server_alone(auth: str, says: str) -> None:
    server, wrong = read(auth)
    assert server is None
    assert says in wrong


@pytest.mark.parametrize("url", ["http://localhost:9000", "http://127.0.0.1/x", "${ISSUER}"])
def test_an_issuer_may_be_on_this_machine_or_in_a_variable(url: str) -> None:
    server, wrong = read(f'issuer = "{url}"', environ={"ISSUER": "https://login.example.com"})
    assert server is not None and not wrong


def test_none_beside_other_keys_switches_signing_in_off() -> None:
    server, wrong = read('kind = "none"\nkey = "/run/key"')
    assert server is not None and not wrong


def test_a_variable_that_is_not_set_is_named_with_its_place() -> None:
    _, wrong = read('client_id = "me"\nclient_secret = "${OAUTH_SECRET}"')
    assert "servers.s.auth.client_secret: the environment variable OAUTH_SECRET is not set" in wrong


@pytest.mark.parametrize(
    ("tls", "says"),
    [
        ('key = "k.pem"', "tls.key: is given without a client certificate"),
        ('password = "hush"', "tls.password: is given without a client certificate"),
        ('insecure = "yes"', "tls.insecure: must be true or false"),
        ("verify = false", "tls.verify: is not a known key"),
    ],
)
def test_certificates_that_do_not_go_together_are_said(tls: str, says: str) -> None:
    config = load_user(f"{SERVER}\n[servers.s.tls]\n{tls}\n")
    assert not config.servers and says in str(config.problems[0])


@pytest.mark.parametrize("inner", ['[servers.s.auth]\nclient_id = "me"', "[servers.s.tls]\ninsecure = true"])
def test_a_program_has_nobody_to_sign_in_to(inner: str) -> None:
    config = load_user(f'[servers.s]\ncommand = "x"\n{inner}\n')
    assert not config.servers and "is for servers at a url" in str(config.problems[0])


def test_where_tokens_are_kept_and_which_browser_is_opened_are_settings() -> None:
    config = load_user(
        '[secrets]\nstore = "memory"\n[auth]\nbrowser = "none"\nclient_metadata_url = "https://e.org/c"\n'
    )
    assert not config.problems
    assert (config.settings.secrets, config.settings.browser) == ("memory", "none")
    assert config.settings.client_metadata_url == "https://e.org/c"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ('[secrets]\nstore = "plain"', "secrets.store: must be one of keyring, file, memory"),
        ('[auth]\nclient_metadata_url = "http://e.org/c"', "is no https:// address with a path"),
        ('[auth]\nbrowsers = "x"', "auth.browsers: is not a known key. Did you mean `browser`?"),
    ],
)
def test_wrong_settings_cost_only_themselves(text: str, says: str) -> None:
    assert says in str(load_user(text).problems[0])


def test_a_project_is_not_used_before_it_is_agreed_to_and_never_says_what_opens_pages(tmp_path: Path) -> None:
    file = tmp_path / ".mcp-studio.toml"
    file.write_text(
        '[auth]\nbrowser = "evil"\n[secrets]\nstore = "memory"\n'
        '[servers.s]\nurl = "https://example.com"\n[servers.s.tls]\ninsecure = true\n'
    )
    before = load_user("", cwd=tmp_path)
    assert not before.servers and before.untrusted[0].servers[0].tls.insecure
    trust().agree(before.untrusted[0].digest, str(file))
    after = load_user("", cwd=tmp_path)
    assert after.servers["s"].tls.insecure
    assert (after.settings.browser, after.settings.secrets) == ("", "keyring")


@pytest.mark.parametrize(
    ("server", "said"),
    [
        (ServerConfig("s", url="https://a.example"), []),
        (ServerConfig("s", url="https://a.example", tls=Tls(insecure=True)), ["accepts any certificate"]),
        (ServerConfig("s", url="https://a.example", tls=Tls(ca="/a", cert="/b")), ["authorities in /a", "in /b"]),
        (ServerConfig("s", url="https://a.example", auth=Auth(issuer="https://b.example")), ["at https://b.example"]),
        (ServerConfig("s", url="https://a.example", auth=Auth(kind="workload", assertion="/t")), ["(workload)"]),
    ],
)
def test_what_a_project_asks_for_besides_its_servers_is_said_before_it_is_agreed_to(
    server: ServerConfig, said: list[str]
) -> None:
    found = cautions(server)
    assert len(found) == len(said) and all(part in caution for part, caution in zip(said, found, strict=True))
