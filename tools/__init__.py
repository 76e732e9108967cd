"""Tools of those who work on normbench; the package has none of them."""
