"""The workers that there are: each registers itself, and says now and then that it is alive."""
