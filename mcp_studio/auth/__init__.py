"""Signing in to servers: OAuth flows, what they brought, and its use on every request."""
