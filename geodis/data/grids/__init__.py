"""Images with known factors: built-in sets, published ones, and the user's own."""
