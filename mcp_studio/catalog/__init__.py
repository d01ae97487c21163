"""What the connected servers offer."""
