"""Points drawn from products of manifolds, with the true tangent frame of every factor."""
