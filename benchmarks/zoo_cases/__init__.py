"""The zoo's cases, a module per group; each registers its families when it is imported."""
