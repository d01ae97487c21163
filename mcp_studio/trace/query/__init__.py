"""The query language of the trace.

`parser.parse` reads a query, and `trace.search` finds all entries of a recording that match.
"""
