"""Analyses: tasks without training, one file each; its tag in ``normcore/spec/tasks/analyses.py`` names the file."""
