"""What a server's TLS table says: authorities, client certificates, and what is wrong with files, in words."""

from __future__ import annotations

import os
import ssl
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from mcp_studio.config.model import Tls
from mcp_studio.errors import ConfigError
from mcp_studio.transport import http_client
from tests.servers.certificates import Authority


@pytest.fixture
def ca(tmp_path: Path) -> Authority:
    return Authority(tmp_path)


def wrong(table: Tls) -> ConfigError:
    """What is said of a table that cannot be used."""
    with pytest.raises(ConfigError) as caught:
        http_client.context(table, server="s", file="config.toml")
    assert caught.value.file == "config.toml"
    return caught.value


def names(context: ssl.SSLContext) -> list[str]:
    """The common names of the authorities that a context has loaded."""
    subjects: Any = [found["subject"] for found in context.get_ca_certs()]
    return [value for subject in subjects for part in subject for kind, value in part if kind == "commonName"]


def test_a_table_that_says_nothing_verifies_against_the_system() -> None:
    context = http_client.context(Tls())
    assert context.verify_mode == ssl.CERT_REQUIRED and context.check_hostname


def test_authorities_come_from_a_file_or_from_all_certificates_of_a_folder(ca: Authority, tmp_path: Path) -> None:
    assert "authority of tests" in names(http_client.context(Tls(ca=str(ca.file))))
    folder = tmp_path / "more"
    folder.mkdir()
    for name in ("one", "two"):
        Authority(folder, name)
    (folder / "readme.txt").write_text("no certificate")
    assert {"authority of one", "authority of two"} <= set(names(http_client.context(Tls(ca=str(folder)))))


def test_an_authority_in_der_is_read_too(ca: Authority, tmp_path: Path) -> None:
    file = tmp_path / "ca.der"
    file.write_bytes(ssl.PEM_cert_to_DER_cert(ca.file.read_text()))
    assert "authority of tests" in names(http_client.context(Tls(ca=str(file))))


def test_insecure_verifies_nothing_and_is_never_the_default(ca: Authority) -> None:
    context = http_client.context(Tls(insecure=True, ca="/does/not/matter"))
    assert context.verify_mode == ssl.CERT_NONE and not context.check_hostname
    assert not Tls().insecure


def test_a_client_certificate_with_its_key_in_one_file_or_in_two(ca: Authority, tmp_path: Path) -> None:
    issued, locked = ca.issue("me"), ca.issue("me", password="pass word ü")
    http_client.context(Tls(cert=str(issued.cert), key=str(issued.key)))
    both = tmp_path / "both.pem"
    both.write_bytes(issued.key.read_bytes() + issued.cert.read_bytes())
    http_client.context(Tls(cert=str(both)))
    http_client.context(Tls(cert=str(locked.cert), key=str(locked.key), password="pass word ü"))


def test_what_is_wrong_with_authorities_is_said(ca: Authority, tmp_path: Path) -> None:
    (tmp_path / "text").write_text("nothing here")
    (tmp_path / "broken").write_text("-----BEGIN CERTIFICATE-----\nnot base64!\n-----END CERTIFICATE-----\n")
    (tmp_path / "empty").mkdir()
    for ca_file, words in (
        ("missing.pem", "no such file"),
        ("text", "cannot be used"),
        ("broken", "cannot be used"),
        ("empty", "has no certificates"),
        ("\0", "cannot be"),
    ):
        error = wrong(Tls(ca=str(tmp_path / ca_file)))
        assert words in error.message and error.key == "servers.s.tls.ca", error.message


def test_what_is_wrong_with_a_client_certificate_is_said(ca: Authority, tmp_path: Path) -> None:
    issued, other, locked = ca.issue("me"), ca.issue("other"), ca.issue("me", password="hunter2-secret")
    bundle = tmp_path / "me.p12"
    bundle.write_bytes(b"\x30\x82\x01\x00rest")
    cert, key = str(issued.cert), str(issued.key)
    for table, field, words in (
        (Tls(cert=str(tmp_path / "no.pem"), key=key), "cert", "is no file"),
        (Tls(cert=str(tmp_path), key=key), "cert", "is no file"),
        (Tls(cert=str(bundle), key=key), "cert", "cannot be used"),
        (Tls(cert=key, key=key), "cert", "cannot be used"),
        (Tls(cert=cert), "cert", "cannot be used"),
        (Tls(cert=cert, key=cert), "cert", "cannot be used"),
        (Tls(key=key), "key", "no certificate"),
        (Tls(cert=cert, key=str(other.key)), "cert", "key values mismatch"),
        (Tls(cert=str(locked.cert), key=str(locked.key)), "cert", "cannot be used"),
        (Tls(cert=str(locked.cert), key=str(locked.key), password="wrong-one"), "cert", "cannot be used"),
    ):
        error = wrong(table)
        assert words in error.message and error.key == f"servers.s.tls.{field}", error.message
        assert "wrong-one" not in error.message + error.hint
    assert "openssl pkcs12" in wrong(Tls(cert=str(bundle))).hint


def test_a_key_without_its_password_never_asks_on_the_terminal(ca: Authority) -> None:
    """OpenSSL opens /dev/tty itself where it is given no password: a process with a terminal would hang there."""
    locked = ca.issue("me", password="secret")
    old = (
        locked.key.read_bytes()
        .replace(b"ENCRYPTED PRIVATE", b"RSA PRIVATE")
        .replace(b"\n", b"\nProc-Type: 4,ENCRYPTED\n", 1)
    )
    odd = locked.key.with_suffix(".odd")
    odd.write_bytes(old)
    code = (
        "import sys; from mcp_studio.config.model import Tls; from mcp_studio.transport import http_client as tls\n"
        "for key in sys.argv[2:]:\n"
        "  for password in ('', 'x'):\n"
        "    try: tls.context(Tls(cert=sys.argv[1], key=key, password=password))\n"
        "    except Exception as error: print(type(error).__name__)\n"
    )
    master, slave = os.openpty()
    try:
        found = subprocess.run(
            [sys.executable, "-c", code, locked.cert, locked.key, odd],
            stdin=slave, stdout=subprocess.PIPE, stderr=slave, timeout=120, text=True, check=True,
            start_new_session=True,
        )  # fmt: skip
    finally:
        os.close(master)
        os.close(slave)
    assert found.stdout.split() == ["ConfigError"] * 4


@pytest.mark.parametrize("variable", ["SSL_CERT_FILE", "SSL_CERT_DIR"])
def test_authorities_that_the_environment_names_wrongly_are_named(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, variable: str
) -> None:
    file = tmp_path / "no certificates"
    if variable == "SSL_CERT_FILE":
        file.write_text("text")
    monkeypatch.delenv("SSL_CERT_FILE", raising=False)
    monkeypatch.setenv(variable, str(file))
    if variable == "SSL_CERT_DIR":
        http_client.context(Tls())  # OpenSSL looks into a folder only when it verifies.
    else:
        with pytest.raises(ConfigError, match=variable):
            http_client.context(Tls())
