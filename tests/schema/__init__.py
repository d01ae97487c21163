"""Schemas to forms, text to values, values to problems."""
