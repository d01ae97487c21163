"""Numbers of a trace: how often, how fast, how much, what failed."""
