"""HTTP, as all rooms use it: one concern in each file.

Middleware is plain ASGI, because every request pays for it.
"""
