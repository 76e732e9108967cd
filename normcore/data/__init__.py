"""Data sets: find their files, check the files against their digests, and read them into tensors.

A new data set is an entry in ``datasets/`` (files, digests, official home) and a module in this package that reads and
splits the data. ``registry`` and its imports are free of torch and numpy; the modules that read data are not.
"""
