"""Tools of all servers and own ones across runs: what they are, how they are sorted, how often they are used."""
