"""HTTP for all rooms of the service: one concern in each file.

Middleware is plain ASGI, because it takes time in every request.
"""
