"""What TLS connections of one server trust, and who they say that we are: authorities, client certificate, key.

Reading files, perhaps many: meant for a thread. Nothing here ever asks on the terminal: OpenSSL would, for a
passphrase that nobody gave it.
"""

from __future__ import annotations

import os
import re
import ssl
import time
from collections.abc import Callable
from pathlib import Path

from mcp_studio.config.model import Tls
from mcp_studio.errors import ConfigError

_LARGEST = 8 * 1024 * 1024
_HASHED = re.compile(r"[0-9a-f]{8}\.[0-9]+")
_SUFFIXES = (".pem", ".crt", ".cer", ".cert")
_CERTIFICATE = re.compile(rb"-----BEGIN (?:X509 |TRUSTED )?CERTIFICATE-----")
_KEY = re.compile(rb"-----BEGIN (?:[A-Z0-9]+ )*PRIVATE KEY-----")
_ENCRYPTED = re.compile(rb"-----BEGIN ENCRYPTED PRIVATE KEY-----|Proc-Type: 4,ENCRYPTED")
_DAY = 86_400.0
_SOON = 7 * _DAY


class _Place:
    """Where a value stands, for errors."""

    def __init__(self, server: str, file: str) -> None:
        self._server = server
        self._file = file

    def error(self, field: str, message: str, hint: str = "") -> ConfigError:
        """An error about one key of the table."""
        key = f"servers.{self._server}.tls.{field}" if self._server else f"tls.{field}"
        return ConfigError(message, file=self._file, key=key, hint=hint)


def context(
    tls: Tls, *, server: str = "", file: str = "", note: Callable[[str], None] = lambda text: None
) -> ssl.SSLContext:
    """The context for connections to one server: the system's authorities, and what its table adds.

    Args:
        server, file: whose table it is and where it stands, for errors.
        note: told what is good to know, such as a client certificate that has expired.

    Raises:
        ConfigError: a file that is missing or not what it should be, a key that does not fit, a wrong password.
    """
    place = _Place(server, file)
    made = _unverified() if tls.insecure else _verified()
    if tls.ca and not tls.insecure:
        _trust(made, Path(tls.ca).expanduser(), place)
    if tls.cert:
        _show(made, tls, place, note)
    elif tls.key:
        raise place.error("key", "There is a key for a client certificate, but no certificate.", "Set tls.cert too.")
    return made


def plain() -> ssl.SSLContext:
    """For connections that never come to TLS: it trusts nobody, and costs nothing to make."""
    return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)


def _unverified() -> ssl.SSLContext:
    made = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    made.check_hostname = False
    made.verify_mode = ssl.CERT_NONE
    return made


def _verified() -> ssl.SSLContext:
    import httpx2

    try:
        return httpx2.create_ssl_context()
    except OSError as problem:  # ssl.SSLError is one
        name = "SSL_CERT_FILE" if os.environ.get("SSL_CERT_FILE") else "SSL_CERT_DIR"
        raise ConfigError(
            f"The certificate authorities that {name} names cannot be read: {_why(problem)}.",
            hint=f"{name} is {os.environ.get(name, '')!r}: put it right, or unset it for those of the system.",
        ) from None


# ---------------------------------------------------------------------------------------------------- authorities


def _trust(made: ssl.SSLContext, path: Path, place: _Place) -> None:
    """Add the authorities of a file, or of every certificate file in a folder."""
    if not path.is_dir():
        _add(made, _read(path, "ca", "certificate authorities", place), path, place)
        return
    try:
        names = sorted(os.listdir(path))
    except OSError as problem:
        raise place.error("ca", f"The folder {path} cannot be read: {_why(problem)}.") from None
    files = [path / name for name in names if name.lower().endswith(_SUFFIXES)]
    hashed = any(_HASHED.fullmatch(name) for name in names)
    if not files and not hashed:
        known = ", ".join(_SUFFIXES)
        raise place.error("ca", f"The folder {path} has no certificates (files that end in {known}).")
    for found in files:
        _add(made, _read(found, "ca", "certificate authorities", place), found, place)
    if hashed:
        made.load_verify_locations(capath=path)


def _add(made: ssl.SSLContext, data: bytes, path: Path, place: _Place) -> None:
    try:
        if _CERTIFICATE.search(data):
            made.load_verify_locations(cadata=data.decode("ascii", "ignore"))
        elif data[:1] == b"\x30":
            made.load_verify_locations(cadata=data)  # DER
        else:
            raise place.error("ca", f"{path} has no certificate in it.", _no_pem(data))
    except ssl.SSLError as problem:
        raise place.error("ca", f"{path} cannot be read as certificates: {_why(problem)}.") from None


# ---------------------------------------------------------------------------------------------------- ourselves


def _show(made: ssl.SSLContext, tls: Tls, place: _Place, note: Callable[[str], None]) -> None:
    """Load the client certificate and its key."""
    cert = Path(tls.cert).expanduser()
    key = Path(tls.key).expanduser() if tls.key else cert
    data = _read(cert, "cert", "the client certificate", place)
    if not _CERTIFICATE.search(data):
        raise place.error("cert", f"{cert} has no certificate in it.", _no_pem(data))
    keys = _read(key, "key", "the key of the client certificate", place) if tls.key else data
    if not _KEY.search(keys):
        hint = _no_pem(keys) if tls.key else "If the key is in a file of its own, name that in tls.key."
        raise place.error("key" if tls.key else "cert", f"{key} has no private key in it.", hint)
    if _ENCRYPTED.search(keys) and not tls.password:
        raise place.error("password", f"The key in {key} is encrypted, and there is no password.", "Set tls.password.")
    try:
        made.load_cert_chain(cert, key, password=lambda: tls.password)
    except (ssl.SSLError, ValueError) as problem:
        raise _unusable(problem, cert, key, tls, place, encrypted=bool(_ENCRYPTED.search(keys))) from None
    _note_expiry(data, cert, note)


def _unusable(problem: Exception, cert: Path, key: Path, tls: Tls, place: _Place, *, encrypted: bool) -> ConfigError:
    reason = str(getattr(problem, "reason", None) or "")
    if reason in ("KEY_VALUES_MISMATCH", "KEY_TYPE_MISMATCH"):
        return place.error(
            "key" if tls.key else "cert", f"The key in {key} does not belong to the certificate in {cert}."
        )
    if encrypted:
        return place.error("password", f"The password does not open the key in {key}.")
    return place.error("cert", f"{cert} and its key cannot be read: {_why(problem)}.")


def _note_expiry(data: bytes, cert: Path, note: Callable[[str], None]) -> None:
    """Say when the certificate is out of its time: servers often refuse such without a word."""
    from cryptography import x509

    try:
        found = x509.load_pem_x509_certificate(data)
        begins, ends = found.not_valid_before_utc, found.not_valid_after_utc
    except ValueError:
        return  # OpenSSL could read it, and that is who uses it.
    now = time.time()
    if ends.timestamp() < now:
        note(f"the client certificate in {cert} expired on {ends:%Y-%m-%d}: the server may refuse it")
    elif ends.timestamp() < now + _SOON:
        note(f"the client certificate in {cert} expires on {ends:%Y-%m-%d}")
    if begins.timestamp() > now:
        note(f"the client certificate in {cert} is valid only from {begins:%Y-%m-%d %H:%M} UTC on")


# ---------------------------------------------------------------------------------------------------- files


def _read(path: Path, field: str, what: str, place: _Place) -> bytes:
    try:
        if not path.is_file():
            why = "it is a folder" if path.is_dir() else "it is no file" if path.exists() else "there is no such file"
            raise place.error(field, f"{path}, which should hold {what}, cannot be used: {why}.")
        if path.stat().st_size > _LARGEST:
            raise place.error(field, f"{path}, which should hold {what}, is larger than 8 MB.")
        return path.read_bytes()
    except (OSError, ValueError) as problem:
        raise place.error(field, f"{path}, which should hold {what}, cannot be read: {_why(problem)}.") from None


def _no_pem(data: bytes) -> str:
    """What to do about a file that is of another kind."""
    if data[:1] == b"\x30":
        return "It is not PEM, which begins with -----BEGIN; of a .p12 or .pfx file: openssl pkcs12 -in F -out F.pem"
    return "It should be PEM, which begins with -----BEGIN."


def _why(problem: Exception) -> str:
    if isinstance(problem, ssl.SSLError):
        said = str(problem.reason or "") or str(problem)
        return said.replace("_", " ").lower()
    if isinstance(problem, OSError) and problem.strerror:
        return problem.strerror[:1].lower() + problem.strerror[1:]
    return str(problem)
