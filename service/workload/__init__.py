"""Workload: queues, and live workers with the runs that they train."""
