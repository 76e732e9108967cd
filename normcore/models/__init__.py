"""Architectures: one each, all on ``normcore.recurrent.Recurrent``.

A new one is a module here that takes its sizes and a method, and a task that builds it.
"""
