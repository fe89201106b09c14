"""What variational inference, and a heavier divergence, do to components (seed 002, appendix B)."""
