"""Promises of HTTP itself."""
