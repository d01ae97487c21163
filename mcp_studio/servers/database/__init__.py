"""The database server: SQLite, DuckDB, PostgreSQL and MySQL, read-only unless a person allows more."""
