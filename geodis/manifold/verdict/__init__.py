"""Evidence of a fit, its doubts, and the account that people read."""
