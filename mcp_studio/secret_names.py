"""What gives a secret away before its value is looked at: the name it has, or that it only says where one is kept."""

from __future__ import annotations

import re

_ENDINGS = (
    "password passwd passphrase secret secrets token apikey accesskey privatekey secretkey signingkey encryptionkey "
    "authkey credential credentials authorization cookie codeverifier clientassertion"
).split()
_HARMLESS = re.compile(
    r"(?:progress|page|next|prev(?:ious)?|continuation|cursor|sync|resumption|start|end|stop|bos|eos|pad|unk|mask)token$"
)


def is_secret_name(name: str) -> bool:
    """Whether a variable, header, key or field of this name usually holds a secret."""
    plain = re.sub(r"[^a-z0-9]", "", name.lower())
    return plain.endswith(tuple(_ENDINGS)) and not _HARMLESS.search(plain)


def is_reference(text: str) -> bool:
    """Whether a text only says where a secret is kept, such as `${TOKEN}` or `Bearer ${keyring:x}`; it need not be
    typed to its end. With a default it may be a secret itself.
    """
    return re.fullmatch(r"(?:[A-Za-z]+ )?\$\{(?:[A-Za-z]+:)?(?:\w[\w .-]*)?\}?", text) is not None
