"""The states of a run, in two groups."""

WAITING = ("queued", "running")  # not ended yet
ENDED = ("succeeded", "failed", "cancelled")
