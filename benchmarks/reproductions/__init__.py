"""What the papers found, measured again: ``python -m benchmarks.reproductions`` writes docs/reproductions.md."""
