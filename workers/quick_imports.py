"""Imports without searches for garbage, which took a third of the fork server's start. ``preload`` ends this."""

import gc

USUAL = gc.get_threshold()
gc.set_threshold(0)
