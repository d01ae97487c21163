"""One owner task per server: connections, their states, and what servers ask of a person."""
