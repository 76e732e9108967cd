"""Catalogue of tasks, methods and data sets."""
