"""Storage of secrets: the operating system's keyring, an encrypted file that the person chose, or memory."""
