"""Builds the site of ``docs/``: ``make guide``, which runs MkDocs with ``mkdocs.yml``.

``hooks`` is what MkDocs calls; ``formulas`` typesets equations; ``reference`` writes the reference pages from the
classes, commands, calls and settings that they describe.
"""
