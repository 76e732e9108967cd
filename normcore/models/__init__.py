"""Architectures, one file each.

A model asks a ``Build`` for its recurrent networks, its norms and its parametrized weights. To add one, write its
options in ``normcore/spec/models/``, the module of the same name here, a task that builds it, and a test.
"""
