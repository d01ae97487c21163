"""Forms on a screen."""
