"""Triplets put ground-truth distances into latents, adaptive ones align them (seed 001)."""
