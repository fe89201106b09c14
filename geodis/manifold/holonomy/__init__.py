"""From tangents and a graph to factors that are invariant under parallel transport."""
