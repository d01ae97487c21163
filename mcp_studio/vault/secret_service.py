"""`keyring`'s Secret Service backend with one connection for many secrets, closed whatever happens.

The backend itself connects and agrees on a key for each secret anew, and leaves its socket open where the keyring is
locked. What it stores is stored in the same way: `keyring get mcp-studio NAME` shows it.
"""

from __future__ import annotations

from typing import Any


class SecretService:
    """What `keyring` offers, for the Secret Service; to be used in one thread."""

    def __init__(self, backend: Any) -> None:
        """Args:
        backend: `keyring.backends.SecretService.Keyring()`, with what the person has configured for it.
        """
        from keyring.backends import SecretService as module

        self._backend = backend
        self._library: Any = vars(module)["secretstorage"]
        self._connection: Any = None
        self._collection: Any = None

    @property
    def connected(self) -> bool:
        """Whether there is a connection, which may have become useless."""
        return self._connection is not None

    def close(self) -> None:
        """Close the connection; the next call makes another."""
        connection, self._connection, self._collection = self._connection, None, None
        if connection is not None:
            connection.close()

    def get_password(self, service: str, name: str) -> str | None:
        """The secret, or None."""
        for item in self._open().search_items(self._backend._query(service, name)):
            return self._unlocked(item).get_secret().decode("utf-8", "surrogatepass")
        return None

    def set_password(self, service: str, name: str, value: str) -> None:
        """Keep a secret in place of what had that name."""
        said = self._backend._query(service, name, application=self._backend.appid)
        label = f"Password for '{name}' on '{service}'"
        self._open().create_item(label, said, value.encode("utf-8", "surrogatepass"), replace=True)

    def delete_password(self, service: str, name: str) -> None:
        """Forget a secret; does nothing where there is none."""
        for item in self._open().search_items(self._backend._query(service, name)):
            return self._unlocked(item).delete()

    def _open(self) -> Any:
        """The collection, unlocked: a person may be asked for that."""
        return self._unlocked(self._closed())

    def locked(self) -> bool:
        """Whether it has to be unlocked first; nobody is asked for that here."""
        return bool(self._closed().is_locked())

    def _closed(self) -> Any:
        """The collection as it is."""
        if self._collection is None:
            self._connection = self._library.dbus_init()
            path = getattr(self._backend, "preferred_collection", "")
            if path:
                self._collection = self._library.Collection(self._connection, path)
            else:
                self._collection = self._library.get_default_collection(self._connection)
            self._collection.session = self._library.util.open_session(self._connection)
        return self._collection

    def _unlocked(self, what: Any) -> Any:
        """The same collection or item."""
        from keyring.errors import KeyringLocked

        if what.is_locked():
            what.unlock()
            if what.is_locked():
                raise KeyringLocked("Nobody has unlocked it.")
        return what
