"""Passwords in addresses are found, and not shown."""

import pytest

from service.urls import has_password, without_password


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("s3://key:secret@bucket/path", "s3://bucket/path"),
        ("https://ada@example.org/a@b", "https://example.org/a@b"),
        ("clone https://ada:p@ss@example.org, then http://:x@host", "clone https://example.org, then http://host"),
        ("/a/folder@home", "/a/folder@home"),
        ("s3://bucket/a?b=c@d", "s3://bucket/a?b=c@d"),
        ("https://example.org mailto ada@example.org", "https://example.org mailto ada@example.org"),
    ],
)
def test_an_address_is_shown_without_its_password(text: str, shown: str) -> None:
    assert without_password(text) == shown
    assert has_password(text) == (text != shown)
