"""``python -m benchmarks.library``: layers of ``normcore.nn`` beside what people use today."""
