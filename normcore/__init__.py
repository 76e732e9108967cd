"""The science: tasks, models, normalizations and the training loop.

Knows neither the service nor the workers. ``normcore.spec``, ``normcore.events`` and
``normcore.data.registry`` import no torch; everything else may.
"""

import os

# OpenMP's threads spin while they wait for each other; with another process on the same cores that costs a training
# of small matrices a factor of 8 to 20. It must be said before torch is loaded.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
