"""Points sampled from products of manifolds, with the true tangent frames of the factors."""
