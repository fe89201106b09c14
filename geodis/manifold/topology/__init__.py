"""Which space a factor is, and the evidence: boundary, handedness, holes, curvature, size."""
