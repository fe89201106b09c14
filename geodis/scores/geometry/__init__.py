"""Scores of the geometry of latents: traversals, symmetries and tangent spaces."""
