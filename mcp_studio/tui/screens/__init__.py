"""The main screen, and a dialog a file."""
