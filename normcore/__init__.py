"""The science: tasks, models, normalizations and the training loop.

Knows neither the service nor the workers. ``normcore.spec``, ``normcore.events`` and
``normcore.data.registry`` import no torch; everything else may.
"""
