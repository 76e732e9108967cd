"""What is promised of HTTP itself."""
