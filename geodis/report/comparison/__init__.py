"""Comparisons of several runs: scores, significant differences and similarity."""
