"""Facts as sentences for people, for every front end: knows no widgets and no terminals."""
