"""Rows of batches: where they lie, what a Dataset gives, which triplets they make."""
