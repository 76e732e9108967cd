"""Data sets: where they live, whether they are what they should be, and how they become tensors.

A new data set is an entry in ``datasets/`` (files, digests, official home) and a module here that reads and splits
it. ``registry`` and what it imports are free of torch and numpy; the modules that read data are not.
"""
