"""Scores of geometry and symmetry: directions of change, and how a code moves with factors."""
