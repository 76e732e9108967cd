"""Site of ``docs/``, built by ``make guide``, which runs MkDocs with ``mkdocs.yml``.

MkDocs calls the functions of ``hooks``. ``formulas`` typesets equations. ``reference`` writes the reference pages from
the classes, commands, calls and settings that they describe.
"""
