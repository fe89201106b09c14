"""Images with known factors: generated, published, and the user's own."""
