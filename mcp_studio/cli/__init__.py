"""The command line: one file per verb, built on the engine. Data goes to stdout, messages for people to stderr."""
