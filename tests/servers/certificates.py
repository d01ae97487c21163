"""Certificates for tests of TLS: an authority that issues them to servers and clients."""

from __future__ import annotations

import datetime
import ipaddress
import ssl
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

PEM = serialization.Encoding.PEM


@dataclass(frozen=True)
class Issued:
    """A certificate and its key as files."""

    cert: Path
    key: Path


class Authority:
    """Issues certificates and writes them to a folder; `file` is its own certificate."""

    def __init__(self, folder: Path, name: str = "tests") -> None:
        self.folder = folder
        self._name = name
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._subject = _subject(f"authority of {name}")
        signed = _builder(self._subject, self._subject, self._key.public_key(), 0, 1).add_extension(
            x509.BasicConstraints(ca=True, path_length=None), critical=True
        )
        self.file = folder / f"{name}-ca.pem"
        self.file.write_bytes(signed.sign(self._key, hashes.SHA256()).public_bytes(PEM))

    def issue(self, name: str = "127.0.0.1", *, first: float = -1, last: float = 1, password: str = "") -> Issued:
        """A certificate for an address or a client, valid from `first` to `last` days from now."""
        key = ec.generate_private_key(ec.SECP256R1())
        built = _builder(_subject(name), self._subject, key.public_key(), first, last)
        try:
            alternative: Any = x509.IPAddress(ipaddress.ip_address(name))
        except ValueError:
            alternative = x509.DNSName(name)
        built = built.add_extension(x509.SubjectAlternativeName([alternative]), critical=False)
        stem = f"{self._name}-{name}-{x509.random_serial_number():x}"[:60]
        issued = Issued(self.folder / f"{stem}.pem", self.folder / f"{stem}.key")
        issued.cert.write_bytes(built.sign(self._key, hashes.SHA256()).public_bytes(PEM))
        lock = serialization.BestAvailableEncryption(password.encode()) if password else serialization.NoEncryption()
        issued.key.write_bytes(key.private_bytes(PEM, serialization.PrivateFormat.PKCS8, lock))
        return issued

    def server(self, name: str = "127.0.0.1", *, clients: bool = False, **about: Any) -> ssl.SSLContext:
        """The settings of a server; with `clients` it requires clients to have a certificate of this authority."""
        issued = self.issue(name, **about)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(issued.cert, issued.key)
        if clients:
            context.verify_mode = ssl.CERT_REQUIRED
            context.load_verify_locations(self.file)
        return context


def _subject(name: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, name)])


def _builder(subject: x509.Name, issuer: x509.Name, key: Any, first: float, last: float) -> x509.CertificateBuilder:
    now = datetime.datetime.now(datetime.UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now + datetime.timedelta(days=first, hours=-1))
        .not_valid_after(now + datetime.timedelta(days=last))
    )
