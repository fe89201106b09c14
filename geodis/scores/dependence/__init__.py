"""Scores for factors that depend on each other."""
