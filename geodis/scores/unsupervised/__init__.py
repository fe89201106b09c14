"""Scores that need no factors: how dependent latents are, and whether models agree."""
