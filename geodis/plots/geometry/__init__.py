"""Figures of points and of the manifold that they lie on."""
