"""Speed of the fused recurrences, beside ``torch.nn``'s and our own reference."""

import normcore  # noqa: F401 - before torch, whose threads then wait as in runs
