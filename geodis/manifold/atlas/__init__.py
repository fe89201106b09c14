"""Quadratic fits that are kept: axes and coordinates at new points in one step from the nearest."""
