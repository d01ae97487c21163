"""Failures of TLS in words: which certificate is not accepted by whom, why, and what to do about it."""

from __future__ import annotations

import ssl

from mcp_studio.transport.http_errors import HttpFailure, HttpUnreachable

_TRUST = (
    "If you trust this server, name the certificate of its authority: tls.ca of its entry, --ca FILE, or "
    "SSL_CERT_FILE for all servers."
)
_NAME = "The certificate is for other names: use the name that it is for, or have the server show another one."
_RENEW = "Whoever runs the server has to renew it; check the clock of this machine too."
_CHAIN = "The server should send the certificates in between too; or name them in tls.ca."
_VERIFY = {
    9: ("it is not valid yet", _RENEW),
    10: ("it has expired", _RENEW),
    18: ("it is signed by itself", _TRUST),
    19: ("it comes from an authority that is signed by itself and not trusted here", _TRUST),
    20: ("it comes from an authority that is not known here", _TRUST),
    21: ("its authority is not among what the server sent", _CHAIN),
    23: ("it was revoked", "Whoever runs the server has to replace it."),
    62: ("it is for another host name", _NAME),
    64: ("it is for another address", _NAME),
}
"""OpenSSL's codes of verification (x509_vfy.h) that people meet."""

_SHOW = "tls.cert and tls.key of its entry (--cert, --cert-key) name a client certificate."
_OURS = {
    "CERTIFICATE_REQUIRED": ("wants a client certificate, and none was shown", _SHOW),
    "HANDSHAKE_FAILURE": ("refused the TLS handshake without a reason", f"If it wants a client certificate: {_SHOW}"),
    "BAD_CERTIFICATE": ("does not accept the client certificate", _SHOW),
    "UNKNOWN_CA": ("does not know the authority of the client certificate", "It has to be one that it trusts."),
    "CERTIFICATE_EXPIRED": ("refuses the client certificate: it has expired", "Get a new one for tls.cert."),
    "CERTIFICATE_REVOKED": ("refuses the client certificate: it was revoked", "Get a new one for tls.cert."),
    "CERTIFICATE_UNKNOWN": ("does not accept the client certificate", _SHOW),
    "UNSUPPORTED_CERTIFICATE": ("cannot use the client certificate", "It may be for another purpose, or of a kind."),
    "ACCESS_DENIED": ("accepts the client certificate, but refuses whoever it is for", ""),
    "DECRYPT_ERROR": ("could not check the client certificate", "Does the key in tls.key belong to it?"),
}
"""Alerts about ourselves (RFC 8446 6.2), without the version that OpenSSL puts before them."""
_OLD = "It speaks only versions of TLS that are no longer safe, or only newer ones than are known here."
_THEIRS = {
    "PROTOCOL_VERSION": ("knows none of the versions of TLS that are offered", _OLD),
    "UNSUPPORTED_PROTOCOL": ("wants a version of TLS that is not accepted here", _OLD),
    "NO_PROTOCOLS_AVAILABLE": ("wants a version of TLS that is not accepted here", _OLD),
    "UNRECOGNIZED_NAME": ("does not know the host name that it is asked for", "Check the name in the URL."),
    "NO_APPLICATION_PROTOCOL": ("does not speak HTTP/1.1 on this port", ""),
    "INSUFFICIENT_SECURITY": ("wants stronger encryption than is offered", ""),
    "INTERNAL_ERROR": ("failed inside while it was making the TLS connection", "Its log may say why."),
    "UNEXPECTED_EOF_WHILE_READING": (
        "hung up in the TLS handshake",
        f"Does this port speak TLS (https://)? Or does it want a client certificate: {_SHOW}",
    ),
    "UNSAFE_LEGACY_RENEGOTIATION_DISABLED": ("wants an unsafe form of renegotiation", "It has to be updated."),
}
_PLAIN = ("WRONG_VERSION_NUMBER", "RECORD_LAYER_FAILURE", "HTTP_REQUEST", "PACKET_LENGTH_TOO_LONG")


def tls_failure(problem: ssl.SSLError, place: str, *, under_way: bool) -> HttpFailure | None:
    """Put an error of TLS into words; None if it came after the handshake and says nothing of certificates."""
    if isinstance(problem, ssl.SSLCertVerificationError):
        return _not_accepted(problem, place)
    reason = str(getattr(problem, "reason", None) or "")
    alert = _alert(reason)
    # Of TLS 1.3 a server tells its mind of our certificate only when the request is on its way: nothing of it was read.
    if alert in _OURS:
        said, hint = _OURS[alert]
        return HttpUnreachable(f"{place} {said}.", hint=hint)
    if under_way:
        return None
    if reason in _PLAIN:
        return HttpUnreachable(f"{place} does not speak TLS.", hint="Try http:// instead of https://.")
    if alert in _THEIRS:
        said, hint = _THEIRS[alert]
        return HttpUnreachable(f"{place} {said}.", hint=hint)
    said = (reason or str(problem)).replace("_", " ").lower() or "no reason given"
    return HttpUnreachable(f"TLS with {place} failed: {said}.", hint="Does this port speak TLS (https://)?")


def _alert(reason: str) -> str:
    """`TLSV13_ALERT_CERTIFICATE_REQUIRED` → `CERTIFICATE_REQUIRED`."""
    for begin in ("TLSV13_ALERT_", "TLSV1_ALERT_", "SSLV3_ALERT_", "TLSV1_", "SSLV3_"):
        if reason.startswith(begin):
            return reason.removeprefix(begin)
    return reason


def _not_accepted(problem: ssl.SSLCertVerificationError, place: str) -> HttpUnreachable:
    said = problem.verify_message or str(problem)
    why, hint = _VERIFY.get(problem.verify_code, ("", _TRUST))
    words = f"{why} ({said})" if why else said
    return HttpUnreachable(f"The TLS certificate of {place} is not accepted: {words}.", hint=hint)
