"""Facts as sentences for people, for every front end: independent of widgets and terminals."""
