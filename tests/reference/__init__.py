"""Slow, literal twins of the fast code, a file for each room or method."""
