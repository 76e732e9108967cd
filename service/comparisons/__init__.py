"""Comparisons of entries of one problem."""
