"""Scores of how latents move: along traversals, and as the symmetries of the factors say."""
