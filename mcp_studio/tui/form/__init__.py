"""Forms: a view on one JSON value. `form_view` draws fields, `json_editor` the whole; both edit the same value."""
