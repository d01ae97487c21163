"""One owner task per server: connections, their states, and the questions of servers to a person."""
