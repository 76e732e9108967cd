"""What waits, and who works on it: queues, and live workers with the runs that they train."""
