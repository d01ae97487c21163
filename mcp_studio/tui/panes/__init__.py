"""The five panes of the main screen: each owns its calls to the studio and posts what others have to know."""
