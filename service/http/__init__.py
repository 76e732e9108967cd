"""What all rooms share of HTTP: one concern a file, each told by its first line.

Middleware is plain ASGI, because it is paid for by every request.
"""
