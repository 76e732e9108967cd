"""Everything that is measured on a GPU, for the minutes in which there is one: ``python -m benchmarks.gpu_day``.

Each part is a module with a function ``cases(device)``, which gives its measurements, the most valuable first.
``one_part`` makes the measurements of a part, in a process that ``supervisor`` starts and ends. ``results`` keeps them,
and ``documents`` writes the tables of the documents from them.
"""

import normcore  # noqa: F401 - before torch, whose threads then wait as in runs
