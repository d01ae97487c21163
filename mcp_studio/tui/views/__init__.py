"""Lists and viewers of any size: rows exist only while they are on screen."""
