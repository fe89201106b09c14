"""Scores that hold one factor fixed while the others vary."""
