"""Ways to a server: child processes under a guard, HTTP and WebSocket. They carry frames and do not interpret them."""
