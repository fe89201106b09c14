"""Counts of cells that are tuned to states: rings, grids, tracks, arenas, spheres and products."""
