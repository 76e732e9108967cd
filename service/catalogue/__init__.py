"""What one can ask for: tasks, methods and data sets."""
