"""Plug-ins: classes of other packages. Each is checked before it is let in, and named where it fails later."""
