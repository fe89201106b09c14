"""Flat coordinates -> the rotation to statistically independent factors, or a refusal."""
