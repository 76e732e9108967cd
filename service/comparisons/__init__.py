"""Entries of one problem side by side."""
