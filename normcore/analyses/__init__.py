"""Analyses: tasks without training, one module for each; their options are in ``normcore/spec/analyses/``."""
