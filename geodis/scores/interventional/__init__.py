"""Scores that hold or vary one factor at a time."""
