"""A form is a view of one JSON value, which stays the truth."""
