"""The mock server, which answers as a recorded server did."""
