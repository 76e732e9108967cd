"""Kombu's transports, made safe: no message on a broker can end a worker or stop a queue."""
