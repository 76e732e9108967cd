"""Results of many runs, pooled over seeds and ranked."""
