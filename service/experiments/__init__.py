"""Experiments and their runs: how they are submitted, claimed, recorded, ended, read and streamed.

``submission`` makes runs; only ``lifecycle`` changes their state; ``queries`` and ``stream`` read.
"""
