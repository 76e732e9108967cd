"""Plug-ins: classes of other packages. A class is checked before it is used. A later error names the class."""
