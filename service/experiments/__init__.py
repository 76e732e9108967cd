"""Experiments and their runs: submitted, claimed, recorded, ended, read, streamed.

``lifecycle`` alone changes a run's state; ``queries`` and ``stream`` read.
"""
