"""Reproductions of the papers' results: ``python -m benchmarks.reproductions`` writes docs/results/reproductions.md."""
