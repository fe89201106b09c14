"""Scores that fix or vary one factor at a time."""
