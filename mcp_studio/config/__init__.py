"""Settings and servers: reading, checking, expanding and writing configuration files; starts no server."""
