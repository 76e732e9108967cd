"""Sweeps: many experiments at once, from a spec and a grid or random draws over some of its fields."""
