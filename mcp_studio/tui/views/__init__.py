"""Virtual lists and viewers: rows exist only while they are on screen.

Widgets of this folder know neither studio nor screens: they are given data and post messages.
"""
