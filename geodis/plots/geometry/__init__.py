"""Figures of points, manifolds and maps."""
