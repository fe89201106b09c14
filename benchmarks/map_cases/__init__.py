"""What benchmark and analysis of maps share: products with known coordinates, and scores."""
