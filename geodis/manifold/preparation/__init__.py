"""Points as they come -> points that a fit works on: directions, copies, outliers, order."""
