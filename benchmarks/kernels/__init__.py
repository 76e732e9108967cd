"""Speed of the fused recurrences, compared with ``torch.nn`` and with our own reference."""

import normcore  # noqa: F401 - before torch, whose threads then wait as in runs
