"""The language of the trace: what is asked for, in words, and which entries it means.

`parser.parse` reads a text, and `trace.search` finds all entries of a recording that it means.
"""
