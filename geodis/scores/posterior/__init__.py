"""Scores of the posteriors of a Gaussian encoder, not of their means alone."""
