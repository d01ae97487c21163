"""Tools as Python functions: a server's tools for a program, and a program's functions for servers and models."""
