"""Maps of factors -> whether the metric of each depends on where one is in the others."""
