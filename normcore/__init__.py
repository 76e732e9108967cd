"""The science: tasks, models, normalizations and the training loop.

This package imports neither ``service`` nor ``workers``. ``normcore.spec``, ``normcore.events`` and
``normcore.data.registry`` do not import torch; other modules may.
"""

import os

# By default, OpenMP's threads spin while they wait. If another process uses the same cores, spinning makes a training
# of small matrices 8 to 20 times slower. The variable must be set before torch is loaded.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
