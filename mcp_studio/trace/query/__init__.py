"""The language of the trace: what is asked for, in words, and which entries it means.

`parser.parse` reads a text, `Query.matches` decides about one entry, `select.select` finds all of a recording.
"""
