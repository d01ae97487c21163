"""A local server started with less than the person has: without the network, with some folders only."""
