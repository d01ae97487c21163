"""Starts a local server with fewer rights than the person has: without the network, with some folders only."""
