"""Own files: what loads, what does not, and what is said about it."""

from __future__ import annotations

from pathlib import Path

import pytest

from mcp_studio.config.load import load
from mcp_studio.config.model import PolicyRule, Timeouts
from mcp_studio.paths import Paths
from tests.config.helpers import keyring, load_file, load_user, trust

FULL = """
theme = "nord"
ascii = true
start_processes = 3

[keys]
call = "ctrl+j,alt+enter"

[servers.files]
command = "mcp-files"
args = ["--root", "."]
env = { LEVEL = 3, FAST = true }
inherit_env = ["DISPLAY"]
cwd = "sub"
era = "legacy"
enabled = false
trust = true
group = "g"
priority = 1
timeouts = { connect = 2, idle = 3.5 }

[servers.github]
url = "https://api.example.com/mcp"
headers = { Authorization = "Bearer ${keyring:github}" }

[[policy]]
tools = "*.delete_*"
verdict = "ask"

[limits]
connect = 4
message = "2 MB"

[search]
method = "bm25"
cjk = "jieba"
semantic = false
usage = false

[trace]
record = false
max_bytes = "1.5 MB"
max_age = "12 h"
redact = ["x-mine", "(?i)pass"]
traceparent = true
"""


def test_everything_that_a_file_can_say() -> None:
    config = load_user(FULL)
    assert config.problems == ()
    settings, files, github = config.settings, config.servers["files"], config.servers["github"]
    assert (settings.theme, settings.ascii, settings.start_processes, settings.start_remote) == ("nord", True, 3, 16)
    assert settings.keys == {"call": "ctrl+j,alt+enter"}
    assert settings.policy == (PolicyRule("*.delete_*", "ask"),)
    assert (settings.limits.connect, settings.limits.message) == (4, 2 << 20)
    assert (settings.record, settings.record_bytes, settings.record_age) == (False, 3 << 19, 43_200)
    assert (settings.search_method, settings.search_cjk) == ("bm25", "jieba")
    assert not settings.search_semantic and not settings.search_usage
    assert settings.redact == ("x-mine", "(?i)pass") and settings.traceparent
    assert (files.command, files.args, files.env) == ("mcp-files", ("--root", "."), {"LEVEL": "3", "FAST": "true"})
    assert (files.inherit_env, files.era, files.enabled, files.trust) == (("DISPLAY",), "legacy", False, True)
    assert (files.group, files.priority, files.timeouts) == ("g", 1, Timeouts(2, 3.5))
    assert files.cwd == str(Paths.default().config / "sub")
    assert files.kind == "stdio" and files.source.origin == "user"
    assert github.headers == {"Authorization": "Bearer gh-secret-1"} and github.kind == "http"
    assert set(github.secrets) == {"gh-secret-1"}
    assert config.files == (str(Paths.default().config_file),)


@pytest.mark.parametrize(
    ("age", "seconds"),
    [
        ("3", 259_200),
        ('"14 days"', 1_209_600),
        ('"1.5d"', 129_600),
        ('"2 W"', 1_209_600),
        ('"90 min"', 5_400),
        ("0.5", 43_200),
    ],
)
def test_how_long_sessions_are_kept_is_written_in_days_or_as_a_time(age: str, seconds: float) -> None:
    config = load_user(f"[trace]\nmax_age = {age}\n")
    assert config.problems == () and config.settings.record_age == seconds


def test_nothing_there_is_no_problem() -> None:
    config = load(Paths.default(), Paths.default().state)
    assert (config.servers, config.problems, config.files) == ({}, (), ())


@pytest.mark.parametrize(
    ("entry", "key", "says"),
    [
        ('comand = "x"', "comand", "not a known key. Did you mean `command`?"),
        ('command = "x"\nenabld = false', "enabld", "Did you mean `enabled`?"),
        ("command = 3", "command", "must be a string, not a whole number."),
        ('command = "x"\nargs = "y"', "args", "must be a list, not a string."),
        ('command = "x"\nargs = ["y", 1]', "args[1]", "must be a string, not a whole number."),
        ('command = "x"\nenv = { A = [1] }', "env.A", "must be a string, not a list."),
        (
            'command = "x"\nera = "legcay"',
            "era",
            "must be one of legacy, auto, modern, not `legcay`. Did you mean `legacy`?",
        ),
        ('command = "x"\ntimeouts = { conect = 1 }', "timeouts.conect", "Did you mean `connect`?"),
        (
            'command = "x"\ntimeouts = { connect = 0 }',
            "timeouts.connect",
            "above 0, not `0`.",
        ),
        (
            'command = "x"\ntimeouts = { connect = nan }',
            "timeouts.connect",
            "above 0, not `nan`.",
        ),
        ('command = "x"\ncapabilities = { a = { b = nan } }', "capabilities.a.b", "is not a JSON value."),
        ('command = "x"\nclient_info = { when = 2026-01-01 }', "client_info.when", "is not a JSON value."),
        ('command = "x"\nenabled = "yes"', "enabled", "must be true or false, not a string."),
        ('command = "x"\ntrust = 1', "trust", "must be true or false, not a whole number."),
        ('command = "x"\npriority = true', "priority", "must be a whole number, not true or false."),
        ('command = "x"\nurl = "http://h"', "", "has both a command and a url."),
        ('command = "x"\ngroup = ""', "group", "must be a name without spaces, dots, commas and @"),
        ('command = "x"\ngroup = "a.b"', "group", "must be a name without spaces, dots, commas and @"),
        ('command = "x"\ngroup = "two words"', "group", "must be a name without spaces, dots, commas and @"),
        ('command = "x"\ngroup = "@a"', "group", "must be a name without spaces, dots, commas and @"),
        ("", "", "has neither a command nor a url."),
        ('url = "htp://h"', "url", "`htp://h` does not begin with http://, https://, ws:// or wss://."),
        ('url = "http://h"\ntransport = "stdio"', "transport", "is `stdio`, but the entry has a url."),
        ('command = "${NOPE}"', "command", "the environment variable NOPE is not set."),
        ('url = "http://h"\nheaders = { A = "${keyring:none}" }', "headers.A", "holds nothing under `none`."),
        ('command = "x"\nargs = ["${keyrin:none}"]', "args[0]", "`keyrin` is not known. Did you mean `keyring`?"),
    ],
)
def test_a_wrong_server_costs_only_itself(entry: str, key: str, says: str) -> None:
    config = load_user(f'[servers.good]\ncommand = "y"\n[servers.bad]\n{entry}\n')
    assert list(config.servers) == ["good"]
    (problem,) = {
        problem.key: problem for problem in config.problems if "neither" not in problem.message or not key
    }.values()
    assert problem.file == str(Paths.default().config_file)
    assert problem.key == ".".join(part for part in ("servers.bad", key) if part)
    assert says in str(problem)


def test_numbers_of_absurd_length_do_no_harm() -> None:
    huge = "9" * 400
    config = load_user(f'[limits]\nanswer = {huge}\n[servers.a]\ncommand = "x"\ntimeouts = {{ idle = {huge} }}\n')
    assert config.problems == () and config.servers["a"].timeouts.idle == config.settings.limits.answer == 1e9


@pytest.mark.parametrize(
    ("text", "key", "says"),
    [
        ('them = "x"', "them", "Did you mean `theme`?"),
        ("theme = 1", "theme", "must be a string"),
        ("[limits]\nconect = 1", "limits.conect", "Did you mean `connect`?"),
        ("[limits]\nconnect = -1", "limits.connect", "must be a number of seconds above 0, not `-1`."),
        ('[limits]\nmessage = "much"', "limits.message", "a size such as `64 MB`, not `much`."),
        ("[limits]\nmessage = true", "limits.message", "a size such as `64 MB`"),
        ('[trace]\nredact = ["("]', "trace.redact[0]", "`(` is no regular expression"),
        ('[trace]\nmax_age = "soon"', "trace.max_age", "a time such as `14 days` or `12 h`, not `soon`."),
        ("[trace]\nmax_age = 0", "trace.max_age", "must be a number of days above 0"),
        ("[trace]\nmax_age = true", "trace.max_age", "must be a number of days above 0"),
        ("[trace]\nmax_bytes = -1", "trace.max_bytes", "must be a whole number above 0"),
        ("[trace]\nrecord = 1", "trace.record", "must be true or false"),
        ('[trace]\nmax_byte = "1"', "trace.max_byte", "Did you mean `max_bytes`?"),
        ('[[policy]]\ntools = "*"\nverdict = "alow"', "policy[0].verdict", "Did you mean `allow`?"),
        ('[[policy]]\ntools = "*"', "policy[0]", "needs `verdict`"),
        ('[[policy]]\nverdict = "ask"', "policy[0]", "or another condition"),
        ('[[policy]]\nverdict = "ask"\nuntil = "soon"', "policy[0].until", "must be a day such as"),
        ('[tools."*.x"]\nrisk = "hight"', "tools.*.x.risk", "Did you mean `high`?"),
        ('[policy]\ntools = "*"', "policy", "[[policy]] tables, not a table."),
        ('[[policy]]\nverdict = "ask"\ncalls = -1', "policy[0].calls", "must be 0 or more, not -1."),
        ('[[policy]]\nverdict = "ask"\ncalls = 1\nseconds = 0', "policy[0].seconds", "must be above 0."),
        ("cache_ttl = -5", "cache_ttl", "must be 0 or more, not -5."),
        ('[servers.a]\ncommand = "b"\nprobe = -1', "servers.a.probe", "must be 0 or more, not -1."),
        ("start_processes = 0", "start_processes", "must be at least 1, not 0."),
        ("servers = 1", "servers", "must be a table, not a whole number."),
        ("[keys]\ncall = [1]", "keys.call", "must be a string, not a list."),
    ],
)
def test_a_wrong_setting_costs_only_itself(text: str, key: str, says: str) -> None:
    config = load_user("ascii = true\n" + text)
    assert config.settings.ascii
    (problem,) = config.problems
    assert problem.key == key and says in str(problem)


@pytest.mark.parametrize(
    ("text", "tools"),
    [
        ('[[policy]]\ntools = "*.delete_*"\nverdict = "denied"', "*.delete_*"),
        ('[[policy]]\ntools = "a.*"\nverdict = "deny"\nuntil = "soon"', "a.*"),
        ('[[policy]]\ntools = "a.*"\nverdict = "deny"\norigin = "robot"', "a.*"),
        ('[[policy]]\ntool = "a.*"\nverdict = "deny"', "*"),
        ('[[policy]]\ntools = ["a.*"]\nverdict = "deny"', "*"),
        ("policy = [1]", "*"),
        ('[policy]\ntools = "a.*"\nverdict = "deny"', "*"),
    ],
)
def test_what_a_policy_rule_that_cannot_be_read_may_be_for_is_asked_about(text: str, tools: str) -> None:
    config = load_user(text)
    assert config.problems and config.settings.policy == (PolicyRule(tools, broken=True),)


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b'theme = "x', "not valid TOML"),
        (b"\xff\xfe", "not UTF-8"),
        (b"a = " + b"[" * 100_000, "nested too deeply"),
        (b"#" * (8 * 1024 * 1024 + 1), "larger than 8 MB"),
    ],
)
def test_a_file_that_cannot_be_read_is_one_problem(content: bytes, says: str) -> None:
    paths = Paths.default()
    paths.config.mkdir(parents=True)
    paths.config_file.write_bytes(content)
    (problem,) = load(paths, paths.state).problems
    assert says in problem.message and problem.key == ""


def test_where_a_toml_file_is_wrong_is_said() -> None:
    (problem,) = load_user('theme = "a"\n[servers.x\n').problems
    assert "line 2" in problem.message


def test_a_named_file_must_be_there_and_replaces_all_others(tmp_path: Path) -> None:
    load_user('[servers.mine]\ncommand = "x"')
    config = load(Paths.default(), tmp_path, files=[tmp_path / "no.toml"])
    assert "no such file" in config.problems[0].message
    assert load_file(tmp_path / "a.toml", '[servers.a]\ncommand = "x"').servers.keys() == {"a"}


def test_later_files_override_earlier_ones_server_by_server(tmp_path: Path) -> None:
    first, second = tmp_path / "1.toml", tmp_path / "2.json"
    first.write_text('theme = "nord"\n[servers.a]\ncommand = "1"\n[servers.b]\ncommand = "1"\n')
    second.write_text('{"mcpServers": {"b": {"command": "2"}}}')
    config = load(Paths.default(), tmp_path, files=[first, second])
    assert {name: server.command for name, server in config.servers.items()} == {"a": "1", "b": "2"}
    assert config.settings.theme == "nord"


PROJECT = 'theme = "mono"\n[servers.files]\ncommand = "evil"\n[servers.more]\ncommand = "more"\n'


def test_a_project_file_is_used_only_after_agreeing_to_exactly_it(tmp_path: Path) -> None:
    (tmp_path / ".mcp-studio.toml").write_text(PROJECT)
    before = load_user(FULL, cwd=tmp_path)
    assert before.settings.theme == "nord" and before.servers["files"].command == "mcp-files"
    (question,) = before.untrusted
    assert [server.name for server in question.servers] == ["files", "more"]
    assert question.file == str(tmp_path / ".mcp-studio.toml")

    trust().agree(question.digest, question.file)
    after = load_user(FULL, cwd=tmp_path)
    assert after.untrusted == () and after.settings.theme == "mono"
    assert after.servers["files"].command == "evil" and after.servers["files"].source.origin == "project"
    assert list(after.servers) == ["files", "github", "more"]
    assert after.settings.policy == before.settings.policy

    (tmp_path / ".mcp-studio.toml").write_text(PROJECT + "\n")
    assert load_user(FULL, cwd=tmp_path).untrusted


def test_a_project_makes_nothing_less_safe(tmp_path: Path) -> None:
    (tmp_path / ".mcp-studio.toml").write_text(
        'filter = "off"\n[tools."*"]\nrisk = "low"\n[limits]\ncalls = 9\n[trace]\nrecord = false\n'
        '[[policy]]\ntools = "*"\nverdict = "allow"\n[[policy]]\ntools = "px.*"\nverdict = "deny"\n'
        '[[answer]]\naction = "accept"\n'
    )
    own = 'filter = "mask"\n[[policy]]\ntools = "*.drop"\nverdict = "deny"\n'
    before = load_user(own, cwd=tmp_path)
    trust().agree(before.untrusted[0].digest)
    after = load_user(own, cwd=tmp_path)
    settings = after.settings
    assert [(rule.tools, rule.verdict) for rule in settings.policy] == [("*.drop", "deny"), ("px.*", "deny")]
    assert (settings.filter, settings.tools, settings.answers, settings.record) == ("mask", (), (), True)
    assert {problem.key for problem in after.problems} >= {"filter", "tools", "answers", "record"}


def test_agreeing_to_a_project_does_not_agree_to_a_copy_elsewhere(tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        (tmp_path / name / ".mcp-studio.toml").write_text(PROJECT)
    trust().agree(load(Paths.default(), tmp_path / "one").untrusted[0].digest)
    assert not load(Paths.default(), tmp_path / "one").untrusted
    assert load(Paths.default(), tmp_path / "two").untrusted


def test_a_damaged_trust_store_asks_again(tmp_path: Path) -> None:
    (tmp_path / ".mcp-studio.toml").write_text(PROJECT)
    digest = load(Paths.default(), tmp_path).untrusted[0].digest
    trust().agree(digest)
    assert trust().agreed(digest)
    for damage in ("{", "[]", '{"version": 2, "agreed": {}}', '{"version": 1}'):
        Paths.default().trust_file.write_text(damage)
        assert not trust().agreed(digest)


def test_references_are_not_replaced_in_a_project_nobody_agreed_to(tmp_path: Path) -> None:
    (tmp_path / ".mcp-studio.toml").write_text('[servers.a]\nurl = "http://h/${keyring:github}"\n')

    def never(name: str) -> str:
        raise AssertionError(name)

    config = load(Paths.default(), tmp_path, secrets=never)
    assert config.untrusted[0].servers[0].url == "http://h/${keyring:github}"


def test_the_keyring_is_asked_only_for_servers_that_name_it() -> None:
    asked: list[str] = []

    def listen(name: str) -> str:
        asked.append(name)
        return keyring(name)

    load_user(FULL)
    load(Paths.default(), Paths.default().state, secrets=listen)
    assert asked == ["github"]
