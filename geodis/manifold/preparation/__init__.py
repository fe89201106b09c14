"""Preparation of the points for a fit: directions, near copies, outliers, sampling checks."""
