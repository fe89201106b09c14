"""Noisy points -> the same on the surface that they scatter around."""
