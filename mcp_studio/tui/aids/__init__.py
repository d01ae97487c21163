"""Help for single fields: dates, files, the person's editor, pasting. What is decided here knows no widget."""
