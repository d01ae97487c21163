"""A server that answers as a recorded one did."""
