"""Grids whose images are made of those of another grid."""
