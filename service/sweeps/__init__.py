"""Many experiments at once: a spec, and a grid or random draws over its fields."""
