"""Reconstruction losses that also compare augmented images, and their files."""
