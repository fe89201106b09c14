"""Flat parts of a manifold: unrolled coordinates, periods, and independent factors."""
