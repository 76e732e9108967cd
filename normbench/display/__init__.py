"""Display of the command line: one module for each kind of thing, all of them on ``table``."""
