"""What stands between somebody else's client and a server: it changes nothing, unless a person or a rule wants that."""
