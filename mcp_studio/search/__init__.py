"""Finding tools, resources, templates and prompts by name, words, patterns or meaning."""
