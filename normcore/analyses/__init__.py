"""Analyses: tasks without training, one file each; the options are in ``normcore/spec/analyses/``."""
