"""Maps of the factors: coordinates, distances, geodesics and traversals."""
