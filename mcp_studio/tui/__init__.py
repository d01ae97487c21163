"""The studio in the terminal: panes, screens, forms and views over a running engine."""
