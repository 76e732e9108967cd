"""Display of the command line: one module for each kind of thing, all built on the module ``table``."""
