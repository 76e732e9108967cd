"""The states of a run, in two groups."""

WAITING = ("queued", "running")  # for its end
ENDED = ("succeeded", "failed", "cancelled")
