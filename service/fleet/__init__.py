"""The workers that are running: each worker registers itself, and says every few seconds that it is alive."""
