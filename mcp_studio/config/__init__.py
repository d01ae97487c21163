"""Settings and servers: reading, checking, expanding and writing configuration files; nothing here starts anything."""
