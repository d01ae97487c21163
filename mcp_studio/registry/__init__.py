"""The tools of all servers and the person's own tools across runs, with their categories, tags and use."""
