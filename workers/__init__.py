"""The workers: take a run from the queue, train it in a process of its own, report to the database.

The worker process imports no torch. ``report`` and ``tasks`` are the only modules that use the database.
"""
