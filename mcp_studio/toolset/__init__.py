"""Tools as Python functions: those of servers for a program, and those of a program for servers and models."""
