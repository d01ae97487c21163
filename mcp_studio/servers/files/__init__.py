"""The filesystem server: serves the files of some folders, and nothing outside of them."""
