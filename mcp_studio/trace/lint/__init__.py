"""The protocol lint: what is wrong with each message by the negotiated version, and the specification that says so."""
