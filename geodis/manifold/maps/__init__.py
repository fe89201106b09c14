"""Axes of a factor -> its map: coordinates, distances, movement along it."""
