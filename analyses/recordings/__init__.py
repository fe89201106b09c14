"""Factors of what people record: `python -m analyses.recordings`."""
