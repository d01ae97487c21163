"""Ways to a server: child processes under a guard, and HTTP. They carry frames and know nothing of their meaning."""
