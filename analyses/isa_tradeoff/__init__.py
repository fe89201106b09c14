"""Disentanglement against reconstruction with independent subspaces as prior (seed 002)."""
