"""What crossed the wire, in order, and what it meant."""
