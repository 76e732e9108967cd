"""What the command line shows: one module for each kind of thing, all of them on ``table``."""
