"""Sign-in to remote servers: the OAuth flows, the grants that they return, and the credentials on every request."""
