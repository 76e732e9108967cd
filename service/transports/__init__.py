"""Kombu's transports, made safe: whatever lies on a broker ends no worker and stops no queue."""
