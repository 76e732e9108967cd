"""Addresses that may hold a name and a password in front of the host, as ``https://ada:secret@example.org``."""

import re

SECRET = re.compile(r"(?<=://)[^/?#\s]*@")


def has_password(text: str) -> bool:
    """Tell if an address in the text names a user or a password."""
    return SECRET.search(text) is not None


def without_password(text: str) -> str:
    """Remove names and passwords from the addresses in a text, so that it can be shown or logged."""
    return SECRET.sub("", text)
