"""Addresses that may hold a name and a password in front of the host, as ``https://ada:secret@example.org``."""

import re

SECRET = re.compile(r"(?<=://)[^/?#\s]*@")


def has_password(text: str) -> bool:
    """Tell if an address in the text names a user or a password."""
    return SECRET.search(text) is not None


def without_password(text: str) -> str:
    """The text to be shown or logged: names and passwords in its addresses are left out."""
    return SECRET.sub("", text)
