"""Experiments and their runs: submitted, claimed, recorded, ended, read, streamed.

``submission`` makes runs, ``lifecycle`` alone changes their state; ``queries`` and ``stream`` read.
"""
