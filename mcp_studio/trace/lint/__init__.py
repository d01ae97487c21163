"""The protocol lint: what is wrong with each message, by the version that was negotiated, and where that is written."""
