"""Scores of traversals: points that differ in one factor alone."""
