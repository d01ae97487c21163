"""One file per verb, each with `run`: what the verb does, and how its result is printed."""
