"""`auth`, and verbs that meet servers that need a sign-in, against an authorization server of our own."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import AsyncMock

import pytest

from mcp_studio.auth.store import GrantStore
from mcp_studio.cli.verbs.doctor import remote
from mcp_studio.config.model import Auth, ServerConfig
from mcp_studio.errors import VaultRefused
from mcp_studio.paths import Paths
from mcp_studio.redact import Redactor
from mcp_studio.session.state import Status
from mcp_studio.vault import oskeyring
from mcp_studio.vault.file import FileVault
from tests.cli.kit import Cli, Done, ends_at
from tests.servers import auth_manners_wire as wire
from tests.servers.auth_manners import back
from tests.servers.auth_options import Manner
from tests.servers.auth_server import World, threaded
from tests.support import SERVERS

BROWSER = f"{sys.executable} -E -S {SERVERS / 'browser.py'} {{folder}}"


@pytest.fixture
def cli(monkeypatch: pytest.MonkeyPatch, here: Cli) -> Cli:
    """Runs a command line in this process, with a passphrase and no browser."""
    monkeypatch.setenv("MCP_STUDIO_PASSPHRASE", "a passphrase of tests")
    for name in ("BROWSER", "DISPLAY", "WAYLAND_DISPLAY", "SSH_CONNECTION", "SSH_TTY"):
        monkeypatch.delenv(name, raising=False)
    return here


@pytest.fixture
def world() -> Iterator[World]:
    with threaded() as found:
        yield found


def configured(world: World, browser: str = "none", more: str = "") -> None:
    """Put the server into the configuration, as `mine`."""
    file = Paths.default().config_file
    file.parent.mkdir(parents=True, exist_ok=True)
    browser = browser.format(folder=file.parent)
    file.write_text(
        f'[secrets]\nstore = "file"\n[auth]\nbrowser = "{browser}"\n[servers.mine]\nurl = "{world.url}"\n{more}'
    )


def secrets_in(world: World, done: Done) -> list[str]:
    return [value for value in world.secrets() if value in done.out + done.err]


def test_a_browser_signs_in_and_all_verbs_use_it(world: World, cli: Cli) -> None:
    configured(world, BROWSER)
    done = cli("auth", "login", "mine")
    assert done.code == 0, done.err
    assert done.out.startswith(f"Signed in to mine at {world.issuer.url}") and "✓" in done.err
    assert "In the encrypted file" in done.err and secrets_in(world, done) == []
    assert "mine" in (table := cli("auth", "status").out) and "then renewed" in table and world.issuer.url in table
    whole = cli("auth", "status", "mine", "--json")
    assert whole.code == 0 and whole.json["result"]["signedIn"] and whole.json["result"]["scopes"] == ["mcp:tools"]
    assert whole.json["result"]["claims"] and secrets_in(world, whole) == []
    assert cli("call", "mine.echo", "text=a", "--quiet").out.strip() == "a"


def test_the_token_is_printed_where_it_is_asked_for_alone(world: World, cli: Cli) -> None:
    configured(world, BROWSER)
    cli("auth", "login", "mine", "--json")
    token = cli("auth", "token", "mine")
    assert token.code == 0 and token.out.strip() in world.issued["access_token"] and token.err == ""
    assert cli("auth", "token", "mine", "--header").out == f"Authorization: Bearer {token.out}"
    assert cli("auth", "status", "mine", "--json").json["result"]["claims"]["iss"] == world.issuer.url
    assert json.loads(cli("auth", "token", "--claims").out)["iss"] == world.issuer.url
    world.expire()
    assert cli("auth", "refresh", "mine").code == 0
    assert cli("auth", "token", "mine").out != token.out


def test_signing_out_revokes_and_forgets(world: World, cli: Cli) -> None:
    configured(world, BROWSER)
    cli("auth", "login", "mine")
    done = cli("auth", "logout", "mine")
    assert done.code == 0 and world.seen("/revoke") and done.err
    for words in (["auth", "status", "mine"], ["auth", "token", "mine"]):
        gone = cli(*words)
        assert gone.code == 3 and "mcp-studio auth login mine" in gone.err, words


def test_a_server_that_does_not_take_the_token_it_was_just_given_is_told_at_once(cli: Cli) -> None:
    with threaded("401-for-ever") as world:
        configured(world, BROWSER)
        done = cli("auth", "login", "mine")
        assert done.code == 3 and "does not accept the token" in done.err
        assert done.out == "" and "mcp-studio auth status mine" in done.err and secrets_in(world, done) == []
        again = cli("auth", "login", "mine", "--json")
        assert again.code == 3 and again.json["error"]["kind"] == "sign_in_needed"
        assert again.json["error"]["issuer"] == world.issuer.url and again.json["error"]["steps"]
        assert cli("auth", "status", "mine").code == 0, "what was given is kept"


def test_a_server_that_cannot_be_asked_after_signing_in_is_a_warning(cli: Cli) -> None:
    with threaded() as world:
        configured(world)
        back = ends_at(cli("auth", "login", "mine").out.strip())
        world.manner = Manner("the MCP server fails", reply={"mcp": wire.status("500 Internal Server Error")})
        done = cli("auth", "login", "mine", "--redirect", back, "--json")
        assert done.code == 0 and "warning: Whether mine takes the token is not known" in done.err
        assert done.json["result"]["untried"] and done.json["result"]["issuer"] == world.issuer.url


def test_what_came_back_and_was_turned_away_is_told_where_the_browser_fails(cli: Cli) -> None:
    with threaded("state-wrong") as world:
        configured(world, BROWSER)
        done = cli("auth", "login", "mine")
        assert done.code == 3 and "open the page. A redirect came with" in done.err, done.err


def test_forgetting_tells_nobody(world: World, cli: Cli) -> None:
    configured(world, BROWSER)
    cli("auth", "login", "mine")
    assert cli("auth", "forget", "mine", "--client").code == 0
    assert not world.seen("/revoke") and cli("auth", "status", "mine").code == 3
    cli("auth", "login", "mine")
    assert len(world.issuer.clients) == 2, "registered anew"


def test_a_client_is_forgotten_though_nobody_is_signed_in_and_that_is_said_only_then(world: World, cli: Cli) -> None:
    configured(world, BROWSER)
    nothing = cli("auth", "forget", "mine", "--client")
    assert nothing.code == 0 and "Nobody was signed in to mine.\nNothing is known of a client there." in nothing.err
    cli("auth", "login", "mine")
    assert "forgotten: the sign-in to mine\n" in cli("auth", "forget", "mine").err
    done = cli("auth", "forget", "mine", "--client", "--json")
    assert done.json["result"] == {"server": "mine", "tokens": False, "client": True}
    assert "Nothing is known of a client" in cli("auth", "forget", "mine", "--client").err
    cli("auth", "login", "mine")
    assert len(world.issuer.clients) == 2, "registered anew"


@pytest.mark.parametrize("error", ["unauthorized_client", "invalid_client"])
def test_a_client_that_is_not_known_any_more_is_registered_anew(cli: Cli, error: str) -> None:
    with threaded() as world:
        configured(world, BROWSER)
        assert cli("auth", "login", "mine").code == 0
        world.manner = back("it knows no client", "code", error=error)
        done = cli("auth", "login", "mine")
        assert done.code == 3 and error in done.err and "sign in again, and another one is registered" in done.err
        world.manner = Manner("")
        assert cli("auth", "login", "mine").code == 0 and len(world.issuer.clients) == 2


def test_without_a_place_for_tokens_nothing_is_begun_and_the_choice_is_named(
    world: World, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    configured(world, BROWSER)
    file = Paths.default().config_file
    file.write_text(file.read_text().replace('store = "file"', 'store = "keyring"'))
    before = len(world.requests)
    for backend in ("", "keyring.backends.null.Keyring"):
        monkeypatch.setenv("PYTHON_KEYRING_BACKEND", backend)
        oskeyring.forget()
        done = cli("auth", "login", "mine")
        assert done.code == 2 and "mcp-studio config set secrets.store file" in done.err
        assert len(world.requests) == before and "✗ What protects" not in done.err
    assert cli("config", "set", "secrets.store", "file").code == 0
    assert cli("auth", "login", "mine").code == 0


def test_another_client_is_registered_when_that_is_asked(world: World, cli: Cli) -> None:
    configured(world, BROWSER)
    cli("auth", "login", "mine")
    assert cli("auth", "login", "mine", "--register").code == 0 and len(world.issuer.clients) == 2
    assert cli("auth", "login", "mine").code == 0 and len(world.issuer.clients) == 2
    named = cli("auth", "login", "mine", "--register", "--client-id", "me")
    assert named.code == 2 and "is named, and not registered by us" in named.err
    assert cli("auth", "status", "--register").code == 2


def test_without_anybody_the_page_is_on_standard_output_and_the_redirect_finishes_it(world: World, cli: Cli) -> None:
    configured(world)
    begun = cli("auth", "login", "mine")
    assert begun.code == 3 and begun.out.startswith(world.issuer.url + "/authorize?") and begun.out.count("\n") == 1
    assert "mcp-studio auth login mine --redirect -" in begun.err
    done = cli("auth", "login", "mine", "--redirect", "-", given=ends_at(begun.out.strip()) + "\n")
    assert done.code == 0, done.err
    assert secrets_in(world, done) == [] and cli("auth", "status", "mine").code == 0


def test_the_envelope_has_the_page_too(world: World, cli: Cli) -> None:
    configured(world)
    error = cli("auth", "login", "mine", "--json").json["error"]
    assert error["kind"] == "sign_in_needed" and error["url"].startswith(world.issuer.url)
    states = [step["state"] for step in error["steps"]]
    assert states == ["done", "done", "done", "asking", "waiting", "waiting"], "nothing has failed: somebody can go on"


def test_a_wrong_address_leaves_the_sign_in_as_it_was(world: World, cli: Cli) -> None:
    configured(world)
    url = cli("auth", "login", "mine").out.strip()
    wrong = cli("auth", "login", "mine", "--redirect", "http://127.0.0.1:7338/callback?code=x&state=y")
    assert wrong.code in (2, 3) and "Traceback" not in wrong.err
    assert cli("auth", "login", "mine", "--redirect", ends_at(url)).code == 0


@pytest.mark.parametrize("words", [["call", "mine.echo", "text=a"], ["list", "tools", "--server", "mine"]])
def test_a_verb_without_anybody_is_exit_3_with_the_login_that_helps(world: World, cli: Cli, words: list[str]) -> None:
    configured(world)
    done = cli(*words, "--json")
    error = done.json["error"]
    assert done.code == 3 and error["kind"] == "sign_in_needed"
    assert error["hint"] == "Sign in: mcp-studio auth login mine"
    assert cli("auth", "login", "mine", "--redirect", ends_at(cli("auth", "login", "mine").out.strip())).code == 0
    assert cli(*words, "--json").code == 0


def test_more_scopes_that_nobody_can_give_are_exit_3_with_the_login_that_helps(world: World, cli: Cli) -> None:
    configured(world, BROWSER)
    cli("auth", "login", "mine")
    done = cli("call", "mine.read_notes", "--json")
    login = done.json["error"]["hint"].removeprefix("Sign in: mcp-studio ").split()
    assert done.code == 3 and login[-2:] == ["--scope", "notes:read"]
    assert cli(*login).code == 0
    assert cli("call", "mine.read_notes").code == 0


def test_a_call_that_needs_more_names_the_login_that_gives_it_and_what_there_was_stays(world: World, cli: Cli) -> None:
    configured(world, BROWSER)
    cli("auth", "login", "mine", "--scope", "notes:read")
    done = cli("call", "mine.write_notes", "text=a")
    assert done.code == 3 and "mcp-studio auth login mine" in done.err
    assert cli("auth", "login", "mine", "--scope", "notes:write admin").code == 0
    scopes = cli("auth", "status", "mine", "--json").json["result"]["scopes"]
    assert set(scopes) == {"mcp:tools", "notes:read", "notes:write", "admin"}


def test_what_is_kept_in_memory_is_said_to_end(world: World, cli: Cli) -> None:
    configured(world, BROWSER)
    file = Paths.default().config_file
    file.write_text(file.read_text().replace('"file"', '"memory"'))
    done = cli("auth", "login", "mine")
    assert done.code == 0 and "ends with this command" in done.err
    configured(world)
    file.write_text(file.read_text().replace('"file"', '"memory"'))
    refused = cli("auth", "login", "mine")
    assert refused.code != 0 and "memory" in refused.err and refused.out == "", "nothing can be finished later"


def test_a_token_that_cannot_be_kept_is_used_and_said_to_be_lost(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuses(self: FileVault, name: str, value: str) -> None:
        raise VaultRefused("The disk is full.")

    with threaded(rotate=False) as world:
        configured(world, BROWSER)
        cli("auth", "login", "mine")
        monkeypatch.setattr(FileVault, "set", refuses)
        world.expire()
        called = cli("call", "mine.whoami")
        assert called.code == 0 and "could not be stored: The disk is full. It ends with this command" in called.err
        renewed = cli("auth", "refresh", "mine")
        assert renewed.code == 1 and "could not be stored" in renewed.err and "auth login mine" in renewed.err
        # Named by hand, so that nothing has to be kept before the token.
        known = next(iter(world.issuer.clients))
        monkeypatch.setattr(GrantStore, "unlock", AsyncMock())
        again = cli("auth", "login", "mine", "--client-id", known)
        assert again.code == 2 and "is lost, as it cannot be stored: The disk is full." in again.err
        assert not any(secrets_in(world, done) for done in (called, renewed, again))


def test_a_client_that_has_to_be_named_is_asked_for_by_its_option(cli: Cli) -> None:
    with threaded(registration=False, methods=("client_secret_basic",)) as world:
        configured(world, BROWSER, 'headers = { X-Extra = "${keyring:extra}" }\n')
        assert cli("config", "secrets", "set", "extra", given="more-of-it").code == 0
        done = cli("auth", "login", "mine")
        assert done.code == 3 and "--client-id" in done.err
        world.issuer.clients["me"] = {
            "client_id": "me", "client_secret": "hush-hush-hush", "redirect_uris": ["http://127.0.0.1:7338/callback"],
            "token_endpoint_auth_method": "client_secret_basic",
        }  # fmt: skip
        done = cli("auth", "login", "mine", "--client-id", "me", "--client-secret", "-", given="hush-hush-hush\n")
        assert done.code == 0, done.err
        assert "hush-hush" not in done.out + done.err


def test_a_server_that_needs_no_person_has_its_token_whenever_one_is_asked_for(world: World, cli: Cli) -> None:
    client: dict[str, Any] = {"client_id": "robot", "client_secret": "beep-beep-beep"}
    method = {"token_endpoint_auth_method": "client_secret_basic", "grant_types": ["client_credentials"]}
    world.issuer.clients["robot"] = client | method
    entry = '[servers.mine.auth]\nkind = "client_credentials"\nclient_id = "robot"\nclient_secret = "beep-beep-beep"\n'
    configured(world, more=entry)
    assert "by itself (client_credentials)" in cli("auth", "status").out and cli("auth", "status", "mine").code == 0
    token = cli("auth", "token", "mine", "--quiet")
    assert token.code == 0 and token.out.strip() in world.issued["access_token"]
    assert cli("call", "mine.echo", "text=a").out == "a\n"
    assert "beep" not in (doctor := cli("doctor", "mine")).out + doctor.err


def test_one_of_several_authorization_servers_is_named(cli: Cli) -> None:
    with threaded(issuers=2) as world:
        configured(world, BROWSER)
        done = cli("auth", "login", "mine")
        assert done.code == 3 and "--issuer" in done.err and world.issuers[1].url in done.err
        assert cli("auth", "login", "mine", "--issuer", world.issuers[1].url).code == 0
        assert cli("auth", "status", "mine", "--json").json["result"]["issuer"] == world.issuers[1].url


def test_a_failing_step_is_told_with_what_should_have_been_sent(cli: Cli) -> None:
    with threaded("no-pkce") as world:
        configured(world, BROWSER)
        done = cli("auth", "login", "mine")
        assert done.code == 3 and "✗" in done.err and "code_challenge_methods_supported" in done.err
        assert not world.seen("/authorize")


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["auth", "lgin"], "Did you mean `login`?"),
        (["auth", "login", "mine", "--client-secret", "abc"], "list of processes"),
        (["auth", "login", "mine", "--client-secret", "-"], "--client-id ID is missing"),
        (["auth", "login", "mine", "--step"], "--step needs a terminal"),
        (["auth", "login", "mine", "--redirect", ""], "--redirect is empty"),
        (["auth", "status", "--scope", "a"], "--scope is for `auth login`"),
        (["auth", "logout", "mine", "other"], "`other` is too much"),
        (["auth", "login", "program"], "a program on this machine"),
        (["auth", "login", "keyed"], "credentials that stand in its entry"),
        (["auth", "login", "never"], 'kind = "none"'),
        (["auth", "login", "mne"], "There is no server `mne`.\n  Did you mean `mine`?"),
        (["auth", "login"], "Which server?"),
    ],
)
def test_what_makes_no_sense_is_refused_before_anything_is_sent(
    world: World, cli: Cli, words: list[str], says: str
) -> None:
    more = '[servers.program]\ncommand = "x"\n[servers.keyed]\nurl = "http://127.0.0.1:1/"\n'
    more += 'headers = { Authorization = "Bearer x" }\n[servers.never]\nurl = "http://127.0.0.1:1/"\n'
    configured(world, more=more + 'auth = { kind = "none" }\n')
    done = cli(*words)
    assert done.code == 2 and says in done.err and not world.requests


def test_status_knows_every_kind_of_server(world: World, cli: Cli) -> None:
    more = '[servers.program]\ncommand = "x"\n[servers.keyed]\nurl = "http://127.0.0.1:1/"\n'
    configured(world, more=more + 'headers = { Authorization = "Bearer x-secret" }\n')
    done = cli("auth", "status")
    assert done.code == 0 and "program" not in done.out and "x-secret" not in done.out
    rows = {line.split()[0]: line for line in done.out.splitlines()[1:]}
    assert rows["mine"].split()[1] == "no" and "by credentials that stand in its entry" in rows["keyed"]
    assert not Path(Paths.default().state / "secrets").exists()


def test_doctor_tells_of_sign_in_and_of_certificates_that_are_not_checked(world: World, cli: Cli) -> None:
    configured(world, BROWSER)
    before = cli("doctor", "mine")
    assert before.code == 3 and "no: mcp-studio auth login mine" in before.out
    cli("auth", "login", "mine")
    after = cli("doctor", "mine")
    assert after.code == 0 and f"signed in    at {world.issuer.url}, scopes mcp:tools" in after.out
    assert "the encrypted file" in after.out and secrets_in(world, after) == []
    configured(world, more="[servers.mine.tls]\ninsecure = true\n")
    assert cli("doctor", "mine", "--json").json["result"][0]["insecure"] is True
    assert "INSECURE" in cli("list", "servers").out and "INSECURE" in cli("config").out


@pytest.mark.parametrize(
    "kind, words",
    [("", "no: mcp-studio auth login "), ("client_credentials", "by itself (client_credentials)")],
)
async def test_nobody_is_told_to_sign_in_where_nobody_can(kind: Any, words: str) -> None:
    server = ServerConfig("one", url="https://one.example/mcp", auth=Auth(kind=kind))
    signing = SimpleNamespace(account=AsyncMock(return_value=None))
    studio: Any = SimpleNamespace(sign_ins=signing, redactor=Redactor())
    facts = await remote(studio, server, Status("one", "needs_auth"))
    assert words in facts["access"] and facts["signIn"] == {"signedIn": False}
