"""Code that runs on the device, in Triton's language: ``cells.py`` and ``norms.py`` have the papers' equations,
``forward.py`` and ``backward.py`` the kernels of one step, ``persistent.py`` the kernels of a sequence.

A program works on a tile (R, C) of each gate: R examples, C units. If statistics are over features (layer norm, RMS
norm), the tile has all units; if they are over examples (batch norm), all examples. Lanes beyond B and H load zeros and
store nothing.

Shapes: B examples, H hidden units, G gates (LSTM 4: i, f, g, o; GRU 3: r, z, n; RNN 1), L lines.
"""
