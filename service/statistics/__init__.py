"""Statistics of boards: pure functions on plain values. An undefined number is None."""
