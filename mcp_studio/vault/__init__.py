"""Where secrets are kept: the keyring of the operating system, an encrypted file that was asked for, or memory."""
