"""The filesystem server: the files of some folders, and nothing outside of them."""
